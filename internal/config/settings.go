package config

import (
	"time"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Config has all settings. The tag name names a setting, default and help describe it, secret
// hides its value, and in, from, above, to and url bound its value. The budgets of a search may be
// at most half of its time.
type Config struct {
	Data   string `name:"data" help:"folder for the bus, the index and the state of the trainer"`
	Listen string `name:"listen" default:"127.0.0.1:8665" help:"HTTP address"`

	TLS          TLS          `name:"tls"`
	Bus          Bus          `name:"bus"`
	NATS         NATS         `name:"nats"`
	Weaviate     Weaviate     `name:"weaviate"`
	Query        Query        `name:"query"`
	Rerank       Rerank       `name:"rerank"`
	Kafka        Kafka        `name:"kafka"`
	Peers        Peers        `name:"peers"`
	Auth         Auth         `name:"auth"`
	Limits       Limits       `name:"limits"`
	Audit        Audit        `name:"audit"`
	Freshness    Freshness    `name:"freshness"`
	Events       Events       `name:"events"`
	Log          Log          `name:"log"`
	Standardizer Standardizer `name:"standardizer"`
	Embedder     Embedder     `name:"embedder"`
	LLM          LLM          `name:"llm"`
	Models       Models       `name:"models"`
	Trainer      Trainer      `name:"trainer"`
	Crawl        Crawl        `name:"crawl"`
	Calls        Calls        `name:"calls"`

	Sources map[string]source.Spec `name:"sources" help:"sources by name, or by TENANT/NAME, as in docs/sources.md: a mapping"`
}

// TLS has the certificate of the server.
type TLS struct {
	CertFile string `name:"cert_file" help:"certificate chain of the server, for TLS 1.2 or later and for requests to peers; reloaded when it changes; empty: plain HTTP"`
	KeyFile  string `name:"key_file" help:"key of the certificate"`
}

// Bus configures the bus.
type Bus struct {
	AcceptLoss bool `name:"accept_loss" default:"false" help:"open a damaged bus with the messages that are left"`
}

// NATS configures the NATS server.
type NATS struct {
	Token           string `name:"token" secret:"true" help:"token that the services present at nats.url"`
	URL             string `name:"url" default:"nats://127.0.0.1:4222" help:"NATS server of 'toolstream serve', or several, separated by commas"`
	Prefix          string `name:"prefix" default:"toolstream" help:"prefix of subjects and buckets; deployments that share an account need different prefixes"`
	Replicas        int    `name:"replicas" default:"1" from:"1" to:"5" help:"replicas of new buckets; 3 for a cluster"`
	CredentialsFile string `name:"credentials_file" help:"credentials of NATS (JWT and seed)"`
	NKeyFile        string `name:"nkey_file" help:"seed of an NKey"`
	CAFile          string `name:"ca_file" help:"authorities for the certificate of the NATS server; empty: the authorities of the system"`
	CertFile        string `name:"cert_file" help:"client certificate for NATS"`
	KeyFile         string `name:"key_file" help:"key of the certificate"`
}

// Limits bound the requests of a tenant to a process per minute, and the tools and sources of a
// tenant.
type Limits struct {
	Requests     []string `name:"requests" default:"0" help:"HTTP requests per minute of a tenant to a process; further requests get a 429: a number, or a list with TENANT=NUMBER for single tenants; 0: no limit"`
	Searches     []string `name:"searches" default:"0" help:"searches among them"`
	Feedback     []string `name:"feedback" default:"0" help:"reports of feedback among them"`
	Calls        []string `name:"calls" default:"0" help:"calls of tools among them"`
	Bytes        []string `name:"bytes" default:"0" help:"bytes of request bodies per minute of a tenant; a body may exceed the limit, and the next body waits for the rest"`
	SubjectShare []string `name:"subject_share" default:"100" help:"percent of each of these limits for a single caller, 1 to 100; all callers without a name count as one"`
	Tools        []string `name:"tools" default:"0" help:"tools and providers of a tenant; further tools are rejected"`
	Sources      []string `name:"sources" default:"0" help:"sources of a tenant, including the sources that others name; further sources are refused"`
	InFlight     int      `name:"in_flight" default:"0" from:"0" help:"memory in bytes for foreign content under way in a process: results of calls, lists of sources, bodies, exports; a tenant has up to half of it, and more waits or gets a 503; 0: half of GOMEMLIMIT, 1 GiB without; at least 64 MiB"`
}

// Audit configures the audit log, which always has changes and denials.
type Audit struct {
	Searches float64 `name:"searches" default:"0.01" from:"0" to:"1" help:"share of searches, feedback and other reads in the audit log, 0 to 1"`
}

// Freshness has the objective for changes, which must be a bound of toolstream_freshness_seconds:
// otherwise the metric could not tell whether it is met.
type Freshness struct {
	Objective time.Duration `name:"objective" default:"10s" in:"1s,2.5s,5s,10s,30s,1m0s,5m0s" help:"99 of 100 changes should become searchable within this time: 1s, 2.5s, 5s, 10s, 30s, 1m or 5m; for status, doctor and the alerts of the chart"`
}

// Weaviate configures the vector database of a distributed deployment.
type Weaviate struct {
	URL    string `name:"url" help:"REST address of Weaviate, for the embedder of 'toolstream serve'; empty: no Weaviate"`
	GRPC   string `name:"grpc" help:"gRPC address of Weaviate, host:port"`
	APIKey string `name:"api_key" secret:"true" help:"key for Weaviate"`
	Alias  string `name:"alias" default:"Tool" help:"alias in Weaviate: a capital letter, then letters and digits"`
}

// Query configures searches.
type Query struct {
	Vectors       string        `name:"vectors" default:"replica" in:"replica,weaviate" help:"index of the vectors in 'toolstream serve query': replica (each has its own) or weaviate (replicas have no vectors)"`
	RewriteBudget time.Duration `name:"rewrite_budget" default:"1.5s" above:"0" to:"2.5s" help:"how long a search waits for the language model to rewrite its query; a later answer serves the next search"`
	Rerank        string        `name:"rerank" default:"auto" in:"auto,off,single,multi" help:"how searches rerank tools by owner by default: auto, off, single or multi"`
	HoldBack      []string      `name:"hold_back" default:"requests-in-text,many-subjects" help:"flags of tools that rank last: a list; TENANT=FLAG for a tenant with a list of its own, TENANT=off for an empty list; off: no flags"`
}

// Rerank configures the cross-encoder.
type Rerank struct {
	Model  string        `name:"model" default:"off" help:"cross-encoder for results: onnx:NAME (in this process), http (behind an endpoint) or off"`
	URL    string        `name:"url" url:"true" help:"http: address of the cross-encoder, without /rerank at the end"`
	Form   string        `name:"form" default:"cohere" in:"cohere,tei" help:"http: API of the endpoint: cohere, also for Jina and vLLM, or tei"`
	Name   string        `name:"name" help:"http: model of the endpoint; unused with tei, which has only one"`
	APIKey string        `name:"api_key" secret:"true" help:"key for the endpoint, sent as a bearer token"`
	Budget time.Duration `name:"budget" default:"500ms" above:"0" to:"2.5s" help:"how long a search waits for the cross-encoder"`
}

// Kafka configures the bus of a distributed deployment.
type Kafka struct {
	Brokers     string        `name:"brokers" default:"127.0.0.1:9092" help:"Kafka brokers of 'toolstream serve', host:port, separated by commas"`
	Prefix      string        `name:"prefix" default:"toolstream." help:"prefix of topics"`
	Partitions  int           `name:"partitions" default:"6" from:"1" help:"partitions of new topics"`
	Replication int           `name:"replication" default:"0" from:"0" help:"replicas of new topics; 0: the default of the brokers"`
	Apply       bool          `name:"apply" default:"true" help:"create missing topics at the start"`
	Session     time.Duration `name:"session" default:"30s" from:"1s" to:"30m" help:"how long a replica that does not respond keeps its share of the work"`
	TLS         bool          `name:"tls" default:"false" help:"use TLS for the brokers"`
	CAFile      string        `name:"ca_file" help:"authorities for the certificates of the brokers; empty: the authorities of the system"`
	CertFile    string        `name:"cert_file" help:"client certificate for Kafka"`
	KeyFile     string        `name:"key_file" help:"key of the certificate"`
	SASL        string        `name:"sasl" default:"none" in:"none,plain,scram-sha-256,scram-sha-512" help:"none, plain, scram-sha-256 or scram-sha-512"`
	Username    string        `name:"username" help:"user of SASL"`
	Password    string        `name:"password" secret:"true" help:"password of SASL"`
}

// Peers has the HTTP addresses of other services. A service forwards requests to them, so a client
// needs one address only.
type Peers struct {
	Ingest  string `name:"ingest" url:"true" help:"HTTP address of ingest, for requests that other services forward"`
	Query   string `name:"query" url:"true" help:"HTTP address of query"`
	Trainer string `name:"trainer" url:"true" help:"HTTP address of the trainer"`
	CAFile  string `name:"ca_file" help:"authorities for the certificates of peers at https addresses; empty: the authorities of the system"`
}

// Auth decides who may call.
type Auth struct {
	Mode         string        `name:"mode" default:"auto" in:"auto,none" help:"auto: callers authenticate if auth.tokens_file, auth.oidc or auth.certificates is set, and a server beyond loopback needs one of these; none: every caller is an admin of the tenant default"`
	TokensFile   string        `name:"tokens_file" help:"file of 'toolstream token'; reloaded when it changes; empty: no tokens"`
	OIDC         OIDC          `name:"oidc"`
	Certificates Certificates  `name:"certificates"`
	PolicyFile   string        `name:"policy_file" help:"YAML file with a list of grants for each tenant; reloaded when it changes; while it is unreadable, nothing is shown; empty: grants are in NATS, and 'toolstream grants' changes them"`
	PolicyGrace  time.Duration `name:"policy_grace" default:"1m0s" from:"0s" to:"24h" help:"how long cached grants hold while their store is unreachable; then nothing is shown"`
	Proxies      []string      `name:"trusted_proxies" help:"addresses of proxies before the server, such as 10.0.0.0/8: a list; the last address in their X-Forwarded-For (or Forwarded) that is not of a proxy is the client's, for limits and the audit log"`
	Hosts        string        `name:"hosts" help:"host names of a server on loopback without tokens, separated by commas; always allowed: localhost, addresses, names without a dot, and names under .localhost, .local, .internal and .home.arpa"`
}

// Certificates configures authentication by client certificates (X.509-SVIDs of SPIFFE).
type Certificates struct {
	CAFile  string              `name:"ca_file" help:"authorities for client certificates with one SPIFFE id; needs tls.cert_file; reloaded when it changes; empty: no client certificates"`
	Callers map[string]Workload `name:"callers" help:"tenant and role by SPIFFE id, or by a prefix with /*: a mapping; the longest match counts, other ids are refused"`
	Proxies []string            `name:"proxies" help:"ids that may forward a caller's certificate in the header Client-Cert (RFC 9440): services of the deployment, and proxies that end TLS: a list"`
}

// Workload is the caller of a SPIFFE id.
type Workload struct {
	Tenant string        `json:"tenant"`
	Role   identity.Role `json:"role"`
}

// OIDC configures the identity provider.
type OIDC struct {
	Issuer       string        `name:"issuer" url:"true" help:"https address of the OpenID Connect issuer (http only on this machine); empty: no provider"`
	Audience     string        `name:"audience" help:"audience of tokens; if it is this server's address, clients discover the provider there (RFC 9728)"`
	Algorithms   []string      `name:"algorithms" default:"RS256,PS256,ES256,EdDSA" help:"allowed signature algorithms of tokens: a list"`
	Skew         time.Duration `name:"skew" default:"30s" from:"0s" to:"5m" help:"maximum difference between the clocks of provider and server"`
	TenantClaim  string        `name:"tenant_claim" help:"claim with the tenant; dots name a nested claim, such as realm_access.roles; empty: all callers belong to the tenant default"`
	SubjectClaim string        `name:"subject_claim" default:"sub" help:"claim with the name of the caller"`
	GroupsClaim  string        `name:"groups_claim" default:"groups" help:"claim with the groups of the caller"`
	Roles        []string      `name:"roles" help:"roles of groups: a list of GROUP=ROLE; the group * is every caller, and the highest role counts"`

	ClientID         string   `name:"client_id" help:"client id of the console at the provider, which redirects sign-ins to ADDRESS/v1/session:callback; empty: people sign in with a token"`
	ClientSecretFile string   `name:"client_secret_file" help:"file with the secret of the client, if it has one"`
	Scopes           []string `name:"scopes" help:"scopes of a sign-in in addition to openid: a list"`
}

// Events configures which events the server accepts.
type Events struct {
	Origins string `name:"origins" help:"origins that may register by the CloudEvents webhook handshake, separated by spaces; * for any"`
	Types   string `name:"types" help:"event types of other senders: TYPE=OWN, separated by spaces, such as com.example.tool.removed=tool.deleted"`
}

// Log configures the log.
type Log struct {
	Level  string `name:"level" default:"info" in:"debug,info,warn,error" help:"debug, info, warn or error"`
	Format string `name:"format" default:"auto" in:"auto,text,json" help:"auto (text on a terminal, else json), text or json"`
}

// Standardizer configures the quarantine.
type Standardizer struct {
	Quarantine []string `name:"quarantine" default:"instructions-in-text,invisible-characters,tag-characters,bidi-characters" help:"flags of documents that are hidden from answers and from the language model until an operator releases them: a list; off: no quarantine"`
	Exempt     []string `name:"exempt" help:"flags that do not apply to a provider: a list of FLAG=PROVIDER"`
}

// Embedder configures the embedding model.
type Embedder struct {
	Model          string        `name:"model" default:"static" help:"embedding model: static (in the program), static:FILE (a file of 'toolstream-lab distill', by path or by name in models.dir), onnx:NAME (a model of 'toolstream models list') or http (a model behind an endpoint)"`
	URL            string        `name:"url" help:"endpoint of embedder.model http: an OpenAI-compatible address ending in /v1"`
	APIKey         string        `name:"api_key" secret:"true" help:"key for the endpoint, sent as a bearer token"`
	Name           string        `name:"name" help:"model of the endpoint"`
	Dimensions     int           `name:"dimensions" default:"0" from:"0" help:"dimensions of the endpoint's vectors; 0: ask the endpoint at the start"`
	DocumentPrefix string        `name:"document_prefix" help:"prefix of documents for the endpoint's model, such as \"passage: \""`
	QueryPrefix    string        `name:"query_prefix" help:"prefix of queries for the endpoint's model, such as \"query: \""`
	Batch          int           `name:"batch" default:"32" above:"0" help:"maximum number of texts in a request to the endpoint"`
	Parallel       int           `name:"parallel" default:"4" above:"0" help:"maximum number of concurrent requests to the endpoint"`
	Timeout        time.Duration `name:"timeout" default:"30s" above:"0" help:"time for a request to the endpoint"`
}

// LLM configures the language model, its uses and its budget.
type LLM struct {
	BaseURL         string        `name:"base_url" url:"true" help:"OpenAI-compatible address of a language model, ending in /v1; empty: no language model"`
	Model           string        `name:"model" help:"model of the endpoint"`
	APIKey          string        `name:"api_key" secret:"true" help:"key for the endpoint, sent as a bearer token"`
	APIKeyFile      string        `name:"api_key_file" help:"file with the key, instead of llm.api_key"`
	Timeout         time.Duration `name:"timeout" default:"2m0s" above:"0" help:"time for one request"`
	Parallel        int           `name:"parallel" default:"8" above:"0" help:"maximum number of concurrent requests"`
	Attempts        int           `name:"attempts" default:"4" above:"0" help:"maximum number of attempts for a request"`
	DailyTokens     int64         `name:"daily_tokens" default:"0" from:"0" help:"tokens that a process may use per day (UTC); 0: no limit"`
	DailyCost       float64       `name:"daily_cost" default:"0" from:"0" help:"dollars that a process may spend per day (UTC); 0: no limit"`
	PricePrompt     float64       `name:"price_prompt" default:"0" from:"0" help:"dollars per million tokens of prompts"`
	PriceCompletion float64       `name:"price_completion" default:"0" from:"0" help:"dollars per million tokens of answers"`
	Schema          string        `name:"schema" default:"auto" in:"auto,strict,grammar,object,prompt" help:"how a request states the form of the answer: strict (json_schema), grammar (json_object with the schema), object (json_object) or prompt; auto: strict, then object"`
	Standardize     string        `name:"standardize" default:"auto" in:"auto,off" help:"auto: the model fills gaps in documents if llm.base_url is set; off: it does not"`
	Rewrite         string        `name:"rewrite" default:"auto" in:"auto,off" help:"auto: the model rewrites queries if llm.base_url is set; off: it does not"`
	Language        string        `name:"language" default:"source" in:"source,english" help:"language of the texts that the model fills in: source (as the document) or english"`
}

// Models configures the folder of models.
type Models struct {
	Dir    string `name:"dir" help:"folder of 'toolstream models'; empty: models in the data folder"`
	Mirror string `name:"mirror" default:"https://repo1.maven.org/maven2" url:"true" help:"Maven repository that 'toolstream models add' downloads from"`
}

// Trainer configures learning from feedback.
type Trainer struct {
	Publish  time.Duration `name:"publish" default:"1m0s" above:"0" help:"minimum time between two versions of the weights"`
	MinPairs int           `name:"min_pairs" default:"100" above:"0" help:"pairs of a used and a skipped result before learned weights serve"`
	HalfLife time.Duration `name:"half_life" default:"336h0m0s" above:"0" help:"time after which a use counts half"`
}

// Crawl bounds the sources that tenants add.
type Crawl struct {
	Credentials map[string]outbound.Credential `name:"credentials" help:"credentials by name, as in docs/sources.md: a mapping"`
	Commands    []string                       `name:"commands" help:"commands that sources may start, with their arguments: a list"`
	Private     []string                       `name:"private" help:"private addresses that sources with allow_private may reach, such as 10.0.0.0/8: a list"`
	Folders     []string                       `name:"folders" help:"folders that sources may read, with their subfolders: a list"`
	Kubernetes  Kubernetes                     `name:"kubernetes"`
}

// Kubernetes configures the cluster of sources of the kind kubernetes.
type Kubernetes struct {
	Namespaces map[string][]string `name:"namespaces" help:"namespaces that sources may read, by tenant, * for all: a mapping"`
	Kinds      []string            `name:"kinds" help:"resources to read (docs/kubernetes.md): a list; empty: all"`
	Kubeconfig string              `name:"kubeconfig" help:"kubeconfig file; empty: kubectl's, or the service account of a pod"`
	Context    string              `name:"context" help:"context in the kubeconfig; empty: the current context"`
}

// Calls configures calls of tools.
type Calls struct {
	Destructive string                     `name:"destructive" default:"deny" in:"allow,deny" help:"without authentication: allow or deny calls of tools that may change or delete something; with authentication grants decide"`
	Timeout     time.Duration              `name:"timeout" default:"1m0s" above:"0" help:"time for one call"`
	MaxResult   int                        `name:"max_result" default:"1048576" from:"1024" help:"maximum bytes of a result; the rest is cut off"`
	PerSource   int                        `name:"per_source" default:"32" from:"1" help:"concurrent calls to a source, half of them for a single caller; more wait"`
	Idempotency time.Duration              `name:"idempotency" default:"10m0s" from:"1m" to:"24h" help:"how long the result of a call with an idempotency key is kept; at least 10 s longer than calls.timeout"`
	Record      bool                       `name:"record" default:"false" help:"record arguments and results of calls in the audit log, up to 4 KiB each"`
	Providers   map[string]source.Provider `name:"providers" help:"addresses for the tools of providers without a source, as in docs/calls.md: a mapping"`
}

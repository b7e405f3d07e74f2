package config

import (
	"time"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/source"
)

// Config is everything that can be set. The tag name names a setting, default and help
// describe it, secret keeps its value from being printed, and in, from, above, to and url
// bound what it may be. The budgets of a search end at half of the time that it has.
type Config struct {
	Data   string `name:"data" help:"folder for the bus, the index and what was learned"`
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

	Sources map[string]source.Spec `name:"sources" help:"sources by name, or by TENANT/NAME, as in docs/sources.md: a mapping, in the environment as JSON"`
}

// TLS says by what the server proves itself.
type TLS struct {
	CertFile string `name:"cert_file" help:"certificate of the server, with those between it and its authority: with it the server speaks TLS, 1.2 at least; a service shows it to its peers, too; it is read again when it changes; empty: plain HTTP"`
	KeyFile  string `name:"key_file" help:"its key"`
}

// Bus says how the bus is opened.
type Bus struct {
	AcceptLoss bool `name:"accept_loss" default:"false" help:"open a bus that has lost messages to damage, with what is left"`
}

// NATS says where processes meet.
type NATS struct {
	Listen          string `name:"listen" help:"address at which 'toolstream up' answers clients of NATS, who come in with a token of auth; empty opens none"`
	Token           string `name:"token" secret:"true" help:"token that the services present at nats.url"`
	URL             string `name:"url" default:"nats://127.0.0.1:4222" help:"server at which the services of 'toolstream serve' meet; several are separated by commas"`
	Prefix          string `name:"prefix" default:"toolstream" help:"what the names of subjects and buckets at nats.url begin with: another one for each deployment that shares an account there"`
	Replicas        int    `name:"replicas" default:"1" from:"1" to:"5" help:"servers that hold a copy of a bucket that is made at nats.url; of a cluster, 3"`
	CredentialsFile string `name:"credentials_file" help:"credentials of NATS (JWT and seed)"`
	NKeyFile        string `name:"nkey_file" help:"seed of an NKey"`
	CAFile          string `name:"ca_file" help:"certificates that the NATS server's is checked by; empty: the system's"`
	CertFile        string `name:"cert_file" help:"client certificate for NATS"`
	KeyFile         string `name:"key_file" help:"its key"`
}

// Limits bound what one tenant may ask of a process in a minute, and what it may have.
type Limits struct {
	Requests     []string `name:"requests" default:"0" help:"HTTP requests of a tenant that a process answers in a minute, beyond which it answers 429: a number, or a list, also separated by commas, with TENANT=NUMBER for tenants that have their own; 0: no limit"`
	Searches     []string `name:"searches" default:"0" help:"searches among them, in the same form"`
	Feedback     []string `name:"feedback" default:"0" help:"reports of feedback among them, in the same form"`
	Calls        []string `name:"calls" default:"0" help:"calls of tools among them, in the same form"`
	Bytes        []string `name:"bytes" default:"0" help:"bytes of bodies that a process reads of a tenant in a minute, in the same form: a body that is begun is read to its end, and the next one waits for the rest"`
	SubjectShare []string `name:"subject_share" default:"100" help:"percent of each of these that one caller of a tenant may have, 1 to 100, in the same form; callers without a name are one"`
	Tools        []string `name:"tools" default:"0" help:"tools and providers that a tenant may have, in the same form: further ones are rejected"`
	Sources      []string `name:"sources" default:"0" help:"sources that a tenant may have, with those that they name, in the same form: further ones are refused"`
}

// Audit says what stands in the audit log beside changes and denials, which always do.
type Audit struct {
	Searches float64 `name:"searches" default:"0.01" from:"0" to:"1" help:"share of searches, reports of feedback and other reads that stand in the audit log, 0 to 1"`
}

// Freshness is what is promised of changes. The objective is a bound of
// toolstream_freshness_seconds, or nobody could tell from that whether it is met.
type Freshness struct {
	Objective time.Duration `name:"objective" default:"10s" in:"1s,2.5s,5s,10s,30s,1m0s,5m0s" help:"within which 99 of a hundred changes are to become searchable, from their being accepted: 1s, 2.5s, 5s, 10s, 30s, 1m or 5m; status, doctor and the chart's alerts judge by it"`
}

// Weaviate searches vectors, where services run apart.
type Weaviate struct {
	URL    string `name:"url" help:"REST address of Weaviate, to which the embedder of 'toolstream serve' writes; empty: to none"`
	GRPC   string `name:"grpc" help:"gRPC address of Weaviate, host:port"`
	APIKey string `name:"api_key" secret:"true" help:"key for Weaviate"`
	Alias  string `name:"alias" default:"Tool" help:"alias in Weaviate: a capital, then letters and digits"`
}

// Query says how searches are answered.
type Query struct {
	Vectors       string        `name:"vectors" default:"replica" in:"replica,weaviate" help:"where a replica of 'toolstream serve query' searches vectors: replica, in its own index, or weaviate; then a replica holds none"`
	RewriteBudget time.Duration `name:"rewrite_budget" default:"1.5s" above:"0" to:"2.5s" help:"how long a search waits for the language model that rewrites its query; then it goes on without, and the answer serves the next one"`
	Rerank        string        `name:"rerank" default:"auto" in:"auto,off,single,multi" help:"how searches reorder tools by their owners unless they say it themselves: auto, off, single or multi"`
	HoldBack      []string      `name:"hold_back" default:"requests-in-text,many-subjects" help:"flags of tools that stand behind all others in answers: a list, or separated by commas; TENANT=FLAG is for a tenant that has a list of its own, TENANT=off an empty one; off: none"`
}

// Rerank says what judges the tools that a search has found.
type Rerank struct {
	Model  string        `name:"model" default:"off" help:"what judges the tools that a search has found: onnx:NAME, a cross-encoder that runs in the process; http, one behind an endpoint; or off"`
	URL    string        `name:"url" url:"true" help:"http: address of the cross-encoder, without the /rerank at its end"`
	Form   string        `name:"form" default:"cohere" in:"cohere,tei" help:"http: how it is asked: cohere, which Jina and vLLM speak too, or tei"`
	Name   string        `name:"name" help:"http: model that it is asked for; not with tei, which has one"`
	APIKey string        `name:"api_key" secret:"true" help:"key for it, sent as a bearer token"`
	Budget time.Duration `name:"budget" default:"500ms" above:"0" to:"2.5s" help:"how long a search waits for it; then it goes on without"`
}

// Kafka is the bus of services that run apart.
type Kafka struct {
	Brokers     string        `name:"brokers" default:"127.0.0.1:9092" help:"Kafka brokers of 'toolstream serve', host:port, separated by commas"`
	Prefix      string        `name:"prefix" default:"toolstream." help:"what the names of topics begin with"`
	Partitions  int           `name:"partitions" default:"6" from:"1" help:"partitions of a topic that is created"`
	Replication int           `name:"replication" default:"0" from:"0" help:"replicas of a topic that is created; 0 is the brokers' default"`
	Apply       bool          `name:"apply" default:"true" help:"create missing topics at the start"`
	Session     time.Duration `name:"session" default:"30s" from:"1s" to:"30m" help:"how long a replica that has gone silent keeps its share of the work"`
	TLS         bool          `name:"tls" default:"false" help:"speak TLS to the brokers"`
	CAFile      string        `name:"ca_file" help:"certificates that the brokers' are checked by; empty: the system's"`
	CertFile    string        `name:"cert_file" help:"client certificate for Kafka"`
	KeyFile     string        `name:"key_file" help:"its key"`
	SASL        string        `name:"sasl" default:"none" in:"none,plain,scram-sha-256,scram-sha-512" help:"none, plain, scram-sha-256 or scram-sha-512"`
	Username    string        `name:"username" help:"user of SASL"`
	Password    string        `name:"password" secret:"true" help:"password of SASL"`
}

// Peers says where services that run apart answer HTTP: a service forwards to them what they serve, so that a client needs one address.
type Peers struct {
	Ingest  string `name:"ingest" url:"true" help:"HTTP address of ingest, to which the other services pass on what is its own"`
	Query   string `name:"query" url:"true" help:"HTTP address of query, the same"`
	Trainer string `name:"trainer" url:"true" help:"HTTP address of the trainer, the same"`
	CAFile  string `name:"ca_file" help:"certificates that those of peers at https addresses are checked by; empty: the system's"`
}

// Auth decides who may call.
type Auth struct {
	Mode         string        `name:"mode" default:"auto" in:"auto,none" help:"auto: callers prove themselves where auth.tokens_file, auth.oidc or auth.certificates is set, and a server that other machines reach wants one of them set; none: whoever reaches the server is an admin of the tenant default"`
	TokensFile   string        `name:"tokens_file" help:"file of the tokens of callers, as toolstream token writes it; it is read again when it changes; empty: nobody is asked for one"`
	OIDC         OIDC          `name:"oidc"`
	Certificates Certificates  `name:"certificates"`
	PolicyFile   string        `name:"policy_file" help:"YAML file of the grants of tenants: a list for each, by its name; it is read again when it changes, and while it cannot be read nothing is shown; empty: grants are kept where weights are, and toolstream grants changes them"`
	PolicyGrace  time.Duration `name:"policy_grace" default:"1m0s" from:"0s" to:"24h" help:"how long a server goes on with the grants that it knows where their store is lost; then it shows nothing"`
	Hosts        string        `name:"hosts" help:"names by which a server on loopback without tokens may be called, separated by commas, beside localhost, addresses, names without a dot and those under .localhost, .local, .internal and .home.arpa"`
}

// Certificates says which certificates of clients are taken (X.509-SVIDs of SPIFFE), and what
// their ids mean.
type Certificates struct {
	CAFile  string              `name:"ca_file" help:"certificates that those of clients are checked by: with it a client proves itself by a certificate whose one URI is a SPIFFE id; wants tls.cert_file; it is read again when it changes; empty: by none"`
	Callers map[string]Workload `name:"callers" help:"tenant and role by SPIFFE id, or by the beginning of ids with /* behind it, of which the longest counts: a mapping, in the environment as JSON; an id that is not there is refused"`
	Proxies []string            `name:"proxies" help:"ids, in the same form, of those that pass on the certificate of a caller in the header Client-Cert (RFC 9440): the services of the deployment, and what ends TLS in front of them: a list, or separated by commas"`
}

// Workload is what an id of a certificate means.
type Workload struct {
	Tenant string        `json:"tenant"`
	Role   identity.Role `json:"role"`
}

// OIDC says which tokens of an identity provider are taken, and what they say.
type OIDC struct {
	Issuer       string        `name:"issuer" url:"true" help:"identity provider (OpenID Connect) whose tokens are taken, at an https address unless it is on this machine; empty: none"`
	Audience     string        `name:"audience" help:"audience that tokens are for: the address of this server, where clients look for the provider by RFC 9728"`
	Algorithms   []string      `name:"algorithms" default:"RS256,PS256,ES256,EdDSA" help:"algorithms by which tokens may be signed: a list, or separated by commas"`
	Skew         time.Duration `name:"skew" default:"30s" from:"0s" to:"5m" help:"how far the clock of the provider may be behind or ahead"`
	TenantClaim  string        `name:"tenant_claim" help:"claim that names the tenant, with dots for one within others, as realm_access.roles; empty: every caller is of the tenant default"`
	SubjectClaim string        `name:"subject_claim" default:"sub" help:"claim that names the caller in its tenant, the same"`
	GroupsClaim  string        `name:"groups_claim" default:"groups" help:"claim that names the caller's groups, the same"`
	Roles        []string      `name:"roles" help:"roles of groups: GROUP=ROLE, a list, or separated by commas; the group * is every caller, and the highest role counts"`

	ClientID         string   `name:"client_id" help:"client that the provider knows this server by: with it people sign in to the console at the provider, which sends them back to ADDRESS/v1/session:callback; empty: they sign in with a token"`
	ClientSecretFile string   `name:"client_secret_file" help:"file that holds its secret; empty: it has none"`
	Scopes           []string `name:"scopes" help:"scopes that a sign-in asks for beside openid: a list, or separated by commas"`
}

// Events says which events are taken.
type Events struct {
	Origins string `name:"origins" help:"origins that may register by the CloudEvents webhook handshake, separated by spaces; * is any"`
	Types   string `name:"types" help:"event types of other senders that stand for toolstream's: TYPE=OWN, separated by spaces, such as com.example.tool.removed=tool.deleted"`
}

// Log says what is logged and how.
type Log struct {
	Level  string `name:"level" default:"info" in:"debug,info,warn,error" help:"debug, info, warn or error"`
	Format string `name:"format" default:"auto" in:"auto,text,json" help:"auto (text on a terminal, else json), text or json"`
}

// Standardizer says which documents are kept out of answers until an operator releases them.
type Standardizer struct {
	Quarantine []string `name:"quarantine" default:"instructions-in-text,invisible-characters,tag-characters,bidi-characters" help:"flags of documents that are kept out of answers, and from the language model, until they are released: a list, or separated by commas; off: none"`
	Exempt     []string `name:"exempt" help:"flags that are wrong for a provider, whose documents then do not get them: FLAG=PROVIDER, a list, or separated by commas"`
}

// Embedder names the embedding model, and where it is reached if it is behind an endpoint.
type Embedder struct {
	Model          string        `name:"model" default:"static" help:"embedding model: static, which is compiled in, static:FILE for one of 'toolstream distill', by its path or its name in models.dir, onnx:NAME for one of 'toolstream models list', or http for one behind an endpoint"`
	URL            string        `name:"url" help:"endpoint of embedder.model http: an OpenAI-compatible address ending in /v1"`
	APIKey         string        `name:"api_key" secret:"true" help:"key for the endpoint, sent as a bearer token"`
	Name           string        `name:"name" help:"model that the endpoint is asked for"`
	Dimensions     int           `name:"dimensions" default:"0" from:"0" help:"length of the endpoint's vectors; 0 asks it at the start"`
	DocumentPrefix string        `name:"document_prefix" help:"what the endpoint's model wants to see before a document, e.g. \"passage: \""`
	QueryPrefix    string        `name:"query_prefix" help:"what the endpoint's model wants to see before a query, e.g. \"query: \""`
	Batch          int           `name:"batch" default:"32" above:"0" help:"most texts in a request to the endpoint"`
	Parallel       int           `name:"parallel" default:"4" above:"0" help:"most requests to the endpoint at once"`
	Timeout        time.Duration `name:"timeout" default:"30s" above:"0" help:"time for a request to the endpoint"`
}

// LLM says which language model is asked, for what, and how much it may cost.
type LLM struct {
	BaseURL         string        `name:"base_url" url:"true" help:"OpenAI-compatible address of a language model, ending in /v1; empty: none is asked"`
	Model           string        `name:"model" help:"model that it is asked for"`
	APIKey          string        `name:"api_key" secret:"true" help:"key for it, sent as a bearer token"`
	APIKeyFile      string        `name:"api_key_file" help:"file that holds the key, in place of llm.api_key"`
	Timeout         time.Duration `name:"timeout" default:"2m0s" above:"0" help:"time for one request"`
	Parallel        int           `name:"parallel" default:"8" above:"0" help:"most requests at once"`
	Attempts        int           `name:"attempts" default:"4" above:"0" help:"how often one question is asked at most"`
	DailyTokens     int64         `name:"daily_tokens" default:"0" from:"0" help:"tokens that a process may spend on one day (UTC); 0 is no bound"`
	DailyCost       float64       `name:"daily_cost" default:"0" from:"0" help:"dollars that a process may spend on one day (UTC); 0 is no bound"`
	PricePrompt     float64       `name:"price_prompt" default:"0" from:"0" help:"dollars per million tokens of prompts"`
	PriceCompletion float64       `name:"price_completion" default:"0" from:"0" help:"dollars per million tokens of answers"`
	Schema          string        `name:"schema" default:"auto" in:"auto,strict,grammar,object,prompt" help:"how it is told the shape of an answer: strict (json_schema), grammar (json_object with the schema), object (json_object) or prompt; auto finds out"`
	Standardize     string        `name:"standardize" default:"auto" in:"auto,off" help:"auto: it fills what documents leave open where llm.base_url is set; off: it does not"`
	Rewrite         string        `name:"rewrite" default:"auto" in:"auto,off" help:"auto: it rewrites queries where llm.base_url is set; off: it does not"`
	Language        string        `name:"language" default:"source" in:"source,english" help:"language of what it fills: source, as the document, or english"`
}

// Models says where the files of models lie.
type Models struct {
	Dir string `name:"dir" help:"folder of 'toolstream models'; empty is models in the data folder"`
}

// Trainer paces learning from feedback.
type Trainer struct {
	Publish  time.Duration `name:"publish" default:"1m0s" above:"0" help:"shortest time between two versions of the weights"`
	MinPairs int           `name:"min_pairs" default:"100" above:"0" help:"pairs of a used and a skipped result before learned weights serve"`
	Sample   int           `name:"sample" default:"30" above:"0" help:"searches that decide whether learned weights serve"`
	HalfLife time.Duration `name:"half_life" default:"336h0m0s" above:"0" help:"how long it takes until what was used counts half"`
}

// Crawl says what sources that tenants add may take of what is the operator's.
type Crawl struct {
	Credentials map[string]outbound.Credential `name:"credentials" help:"credentials by the names that sources refer to, as in docs/sources.md: a mapping, in the environment as JSON"`
	Commands    []string                       `name:"commands" help:"commands that sources may start, with their arguments: a list, or separated by commas"`
	Private     []string                       `name:"private" help:"addresses that are not public and that sources may reach if they ask for it, such as 10.0.0.0/8: a list, or separated by commas"`
	Folders     []string                       `name:"folders" help:"folders that sources may read, with those below: a list, or separated by commas"`
	Kubernetes  Kubernetes                     `name:"kubernetes"`
}

// Kubernetes says which cluster sources of the kind kubernetes look into, and how far.
type Kubernetes struct {
	Namespaces map[string][]string `name:"namespaces" help:"namespaces of the cluster that sources may look into, by tenant, * for all: a mapping, in the environment as JSON"`
	Kinds      []string            `name:"kinds" help:"resources that are read, such as services and httproutes.gateway.networking.k8s.io, as in docs/kubernetes.md; empty is all: a list, or separated by commas"`
	Kubeconfig string              `name:"kubeconfig" help:"file that says how the cluster is reached; empty: as kubectl finds it, and in a pod by its service account"`
	Context    string              `name:"context" help:"context of the kubeconfig; empty is its current one"`
}

// Calls says how tools are called.
type Calls struct {
	Destructive string                     `name:"destructive" default:"deny" in:"allow,deny" help:"without authentication: whether tools are called that may change or delete something (allow, deny); with it grants decide"`
	Timeout     time.Duration              `name:"timeout" default:"1m0s" above:"0" help:"time for one call"`
	MaxResult   int                        `name:"max_result" default:"1048576" from:"1024" help:"bytes of an answer that are given on; the rest is cut off"`
	PerSource   int                        `name:"per_source" default:"32" from:"1" help:"calls to one source at once, of one caller half of them; a few more wait"`
	Idempotency time.Duration              `name:"idempotency" default:"10m0s" from:"1m" to:"24h" help:"how long the result of a call with an idempotency key is kept for those that repeat it; at least 10 s longer than calls.timeout"`
	Record      bool                       `name:"record" default:"false" help:"arguments and results of calls stand in the audit log, each up to 4 KiB"`
	Providers   map[string]source.Provider `name:"providers" help:"where tools are called that were sent or come from documents alone, by their provider, as in docs/calls.md: a mapping, in the environment as JSON"`
}

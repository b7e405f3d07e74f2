// Package config reads what an operator sets: defaults in code, a YAML file
// over them, the environment over that, flags last.
package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// EnvPrefix starts the environment name of every key.
const EnvPrefix = "TOOLSTREAM_"

// ONNXPrefix begins an embedding model that runs in this process, by its name
// among the models.
const ONNXPrefix = "onnx:"

// StaticModel is the embedding model that is compiled in, and StaticPrefix
// begins one that is a file of `toolstream distill`.
const (
	StaticModel  = "static"
	StaticPrefix = "static:"
)

// Config is everything that can be set.
type Config struct {
	// Data is the folder that holds the bus, the index and the trainer's state.
	Data string `koanf:"data"`
	// Listen is the HTTP address.
	Listen string `koanf:"listen"`
	Bus    Bus    `koanf:"bus"`
	NATS   NATS   `koanf:"nats"`
	Kafka  Kafka  `koanf:"kafka"`

	Weaviate Weaviate `koanf:"weaviate"`
	Query    Query    `koanf:"query"`
	Rerank   Rerank   `koanf:"rerank"`
	Peers    Peers    `koanf:"peers"`
	Auth     Auth     `koanf:"auth"`
	Log      Log      `koanf:"log"`
	Events   Events   `koanf:"events"`
	// Embedder chooses the model that turns texts into vectors.
	Embedder Embedder `koanf:"embedder"`
	// LLM is the language model that fills documents and rewrites queries.
	LLM    LLM    `koanf:"llm"`
	Models Models `koanf:"models"`
	// Trainer says how soon feedback changes the ranking.
	Trainer Trainer `koanf:"trainer"`
}

// Bus says how the bus is opened.
type Bus struct {
	// AcceptLoss opens a bus that has lost messages to damage, with what is
	// left, instead of refusing to start.
	AcceptLoss bool `koanf:"accept_loss"`
}

// NATS opens the bus to other processes.
type NATS struct {
	// Listen is the address at which the bus inside the process accepts
	// connections; empty keeps it closed.
	Listen string `koanf:"listen"`
	// Token is what a client has to present; required where Listen is not a
	// loopback address.
	Token string `koanf:"token"`

	// URL is the server that services which run apart meet at, or several,
	// separated by commas.
	URL string `koanf:"url"`
	// Prefix is what the names of subjects and buckets begin with there.
	Prefix string `koanf:"prefix"`
	// Replicas is how many servers hold a copy of a bucket that is made there.
	Replicas        int    `koanf:"replicas"`
	CredentialsFile string `koanf:"credentials_file"`
	NKeyFile        string `koanf:"nkey_file"`
	CAFile          string `koanf:"ca_file"`
	CertFile        string `koanf:"cert_file"`
	KeyFile         string `koanf:"key_file"`
}

// Weaviate proposes candidates by their vectors, where services run apart.
type Weaviate struct {
	URL    string `koanf:"url"`  // empty: nothing is written to it
	GRPC   string `koanf:"grpc"` // host:port
	APIKey string `koanf:"api_key"`
	Alias  string `koanf:"alias"` // what its class is searched by
}

// Where a query replica searches vectors.
const (
	VectorsAuto     = "auto" // in Weaviate if there is one
	VectorsReplica  = "replica"
	VectorsWeaviate = "weaviate"
)

// Query says how searches are answered.
type Query struct {
	Vectors string `koanf:"vectors"`
	// RewriteBudget is how long a search waits for a language model.
	RewriteBudget time.Duration `koanf:"rewrite_budget"`
	// Speculative searches with the query as it is meanwhile.
	Speculative bool `koanf:"speculative"`
	// Rerank is how tools are reordered by their owners.
	Rerank string `koanf:"rerank"`
	// Shadow is the share of the searches that weights on trial score too.
	Shadow float64 `koanf:"shadow"`
	// Exploration is the share of places that may go to tools that nobody used.
	Exploration float64 `koanf:"exploration"`
}

// Kafka is the bus of services that run apart.
type Kafka struct {
	Brokers     string `koanf:"brokers"`     // host:port, separated by commas
	Prefix      string `koanf:"prefix"`      // of the topics' names
	Partitions  int    `koanf:"partitions"`  // of a topic that is created
	Replication int    `koanf:"replication"` // of a topic that is created; 0: the brokers' default
	Apply       bool   `koanf:"apply"`       // create missing topics at the start
	// Session is how long a silent replica keeps its share of the work.
	Session  time.Duration `koanf:"session"`
	TLS      bool          `koanf:"tls"`
	CAFile   string        `koanf:"ca_file"`
	CertFile string        `koanf:"cert_file"`
	KeyFile  string        `koanf:"key_file"`
	SASL     string        `koanf:"sasl"` // none, plain, scram-sha-256, scram-sha-512
	Username string        `koanf:"username"`
	Password string        `koanf:"password"`
}

// Peers says where services that run apart answer HTTP: a service passes on to
// them what is theirs, so that a client needs one address.
type Peers struct {
	Ingest  string `koanf:"ingest"`
	Query   string `koanf:"query"`
	Trainer string `koanf:"trainer"`
}

// Auth decides who may call.
type Auth struct {
	// TokensFile holds a line "tenant:token" for every credential. Empty
	// switches authentication off: everybody is tenant "default".
	TokensFile string `koanf:"tokens_file"`
	// Hosts lists, separated by commas, names by which a server may be called that
	// listens on loopback without tokens, beside those that nobody else can own.
	Hosts string `koanf:"hosts"`
}

// Events says who may send events.
type Events struct {
	// Origins lists, separated by spaces, the origins that may register for
	// webhooks by the CloudEvents handshake; * allows every one.
	Origins string `koanf:"origins"`
}

// Log says what is logged and how.
type Log struct {
	Level  string `koanf:"level"`  // debug, info, warn, error
	Format string `koanf:"format"` // auto, text, json
}

// Embedder names the embedding model, and where it is reached if it is behind
// an endpoint.
type Embedder struct {
	Model          string        `koanf:"model"` // static, static:FILE, onnx:NAME, http
	URL            string        `koanf:"url"`
	APIKey         string        `koanf:"api_key"`
	Name           string        `koanf:"name"`       // of the endpoint's model
	Dimensions     int           `koanf:"dimensions"` // 0: as the endpoint answers
	DocumentPrefix string        `koanf:"document_prefix"`
	QueryPrefix    string        `koanf:"query_prefix"`
	Batch          int           `koanf:"batch"`    // texts in a request
	Parallel       int           `koanf:"parallel"` // requests at once
	Timeout        time.Duration `koanf:"timeout"`  // of a request
}

// Models says where the files of models lie.
type Models struct {
	// Dir is the folder of `toolstream models`; empty is "models" in Data.
	Dir string `koanf:"dir"`
}

// Trainer paces learning from feedback.
type Trainer struct {
	Settle   time.Duration `koanf:"settle"`    // after its last feedback a search is learned from
	Publish  time.Duration `koanf:"publish"`   // shortest time between two versions of the weights
	MinPairs int           `koanf:"min_pairs"` // before learned weights serve
	Sample   int           `koanf:"sample"`    // searches that they are judged by before
	HalfLife time.Duration `koanf:"half_life"` // after which a use counts half
}

// Key documents one setting.
type Key struct {
	Name    string
	Default string
	Help    string
}

// Env returns the environment variable that sets the key.
func (k Key) Env() string {
	return EnvPrefix + strings.ToUpper(strings.NewReplacer(".", "_").Replace(k.Name))
}

// Keys lists every setting with its default.
func Keys() []Key {
	return []Key{
		{"data", defaultData(), "folder for the bus, the index and what was learned"},
		{"listen", "127.0.0.1:8665", "HTTP address"},
		{"bus.accept_loss", "false", "open a bus that has lost messages to damage, with what is left"},
		{"nats.listen", "", "address at which the bus accepts other processes; empty keeps it closed"},
		{"nats.token", "", "token that NATS clients present; required beyond loopback"},
		{"nats.url", "nats://127.0.0.1:4222", "server at which the services of `toolstream serve` meet; several are separated by commas"},
		{"nats.prefix", "toolstream", "what the names of subjects and buckets at nats.url begin with: another one for each deployment that shares an account there"},
		{"nats.replicas", "1", "servers that hold a copy of a bucket that is made at nats.url; of a cluster, 3"},
		{"nats.credentials_file", "", "credentials of NATS (JWT and seed)"},
		{"nats.nkey_file", "", "seed of an NKey"},
		{"nats.ca_file", "", "certificates that the NATS server's is checked by; empty: the system's"},
		{"nats.cert_file", "", "client certificate for NATS"},
		{"nats.key_file", "", "its key"},
		{"weaviate.url", "", "REST address of Weaviate, to which the embedder of `toolstream serve` writes; empty: to none"},
		{"weaviate.grpc", "", "gRPC address of Weaviate, host:port"},
		{"weaviate.api_key", "", "key for Weaviate"},
		{"weaviate.alias", "Tool", "alias in Weaviate: a capital, then letters and digits"},
		{"query.vectors", VectorsAuto, "where a replica of `toolstream serve query` searches vectors: weaviate; replica, in its own index; or auto, in Weaviate if weaviate.url is set"},
		{"query.rewrite_budget", "1.5s", "how long a search waits for the language model that rewrites its query; then it goes on without"},
		{"query.speculative", "false", "search with the query as it is meanwhile, so that an answer that goes on without does not take longer: twice the work"},
		{"query.rerank", "auto", "how searches reorder tools by their owners unless they say it themselves: auto, off, single or multi"},
		{"query.shadow", "1", "share of the searches, 0 to 1, that learned weights score beside the live ones before they serve"},
		{"query.exploration", "0", "share of the places, 0 to 0.5, that may go to tools that nobody has used, such as 0.05"},
		{"rerank.clear", "0.85", "score, from 0 to 1, from which a tool speaks for its owner"},
		{"rerank.alike", "0.7", "likeness, from 0 to 1, above which two tools are connected"},
		{"rerank.per_component", "3", "connected tools that stay in front"},
		{"rerank.keep_seen", "10", "places to which tools are reordered whose owner was used before"},
		{"rerank.keep_unseen", "50", "places to which the others are"},
		{"rerank.own_need", "0.25", "share of a need's words by which a tool has to say more of it than others so as not to be overtaken by them, with query.rerank auto"},
		{"rerank.single_from", "0.6", "probability that one owner answers a query, from which its tools are brought together"},
		{"rerank.multi_to", "0.1", "the same, to which owners are spread"},
		{"rerank.url", "", "address of a cross-encoder that orders what searches find, without the /rerank at its end; empty: none does"},
		{"rerank.form", "cohere", "how it is asked: cohere, which Jina and vLLM speak too, or tei"},
		{"rerank.model", "", "model that it is asked for; not with tei, which has one"},
		{"rerank.api_key", "", "key for it, sent as a bearer token"},
		{"rerank.budget", "500ms", "how long a search waits for it; then it goes on without"},
		{"kafka.brokers", "127.0.0.1:9092", "Kafka brokers of `toolstream serve`, host:port, separated by commas"},
		{"kafka.prefix", "toolstream.", "what the names of topics begin with"},
		{"kafka.partitions", "6", "partitions of a topic that is created"},
		{"kafka.replication", "0", "replicas of a topic that is created; 0 is the brokers' default"},
		{"kafka.apply", "true", "create missing topics at the start"},
		{"kafka.session", "30s", "how long a replica that has gone silent keeps its share of the work"},
		{"kafka.tls", "false", "speak TLS to the brokers"},
		{"kafka.ca_file", "", "certificates that the brokers' are checked by; empty: the system's"},
		{"kafka.cert_file", "", "client certificate for Kafka"},
		{"kafka.key_file", "", "its key"},
		{"kafka.sasl", "none", "none, plain, scram-sha-256 or scram-sha-512"},
		{"kafka.username", "", "user of SASL"},
		{"kafka.password", "", "password of SASL"},
		{"peers.ingest", "", "HTTP address of ingest, to which the other services pass on what is its own"},
		{"peers.query", "", "HTTP address of query, the same"},
		{"peers.trainer", "", "HTTP address of the trainer, the same"},
		{"auth.tokens_file", "", "file with a line tenant:token for each credential; empty switches authentication off"},
		{"auth.hosts", "", "names by which a server on loopback without tokens may be called, separated by commas, beside localhost, addresses, names without a dot and those under .localhost, .local, .internal and .home.arpa"},
		{"events.origins", "", "origins that may register by the CloudEvents webhook handshake, separated by spaces; * is any"},
		{"log.level", "info", "debug, info, warn or error"},
		{"log.format", "auto", "auto (text on a terminal, else json), text or json"},
		{"embedder.model", StaticModel, "embedding model: static, which is compiled in, static:FILE for one of `toolstream distill`, onnx:NAME for one of `toolstream models list`, or http for one behind an endpoint"},
		{"embedder.url", "", "endpoint of embedder.model http: an OpenAI-compatible address ending in /v1, or TEI's ending in /embed"},
		{"embedder.api_key", "", "key for the endpoint, sent as a bearer token"},
		{"embedder.name", "", "model that the endpoint is asked for"},
		{"embedder.dimensions", "0", "length of the endpoint's vectors; 0 asks it at the start"},
		{"embedder.document_prefix", "", "what the endpoint's model wants to see before a document, e.g. \"passage: \""},
		{"embedder.query_prefix", "", "what the endpoint's model wants to see before a query, e.g. \"query: \""},
		{"embedder.batch", "32", "most texts in a request to the endpoint"},
		{"embedder.parallel", "4", "most requests to the endpoint at once"},
		{"embedder.timeout", "30s", "time for a request to the endpoint"},
		{"llm.base_url", "", "OpenAI-compatible address of a language model, ending in /v1; empty: none is asked"},
		{"llm.model", "", "model that it is asked for"},
		{"llm.api_key", "", "key for it, sent as a bearer token"},
		{"llm.api_key_file", "", "file that holds the key, in place of llm.api_key"},
		{"llm.timeout", "1m0s", "time for one request"},
		{"llm.parallel", "8", "most requests at once; fewer where the endpoint asks for that"},
		{"llm.attempts", "4", "how often one question is asked at most"},
		{"llm.daily_tokens", "0", "tokens that a process may spend on one day (UTC); 0 is no bound"},
		{"llm.daily_cost", "0", "dollars that a process may spend on one day (UTC); 0 is no bound"},
		{"llm.price_prompt", "0", "dollars per million tokens of prompts"},
		{"llm.price_completion", "0", "dollars per million tokens of answers"},
		{"llm.schema", "auto", "how it is told the shape of an answer: strict, object or prompt; auto finds out"},
		{"llm.standardize", "auto", "auto: it fills what documents leave open where llm.base_url is set; off: it does not"},
		{"llm.rewrite", "auto", "auto: it rewrites queries where llm.base_url is set; off: it does not"},
		{"llm.language", "source", "language of what it fills: source, as the document, or english"},
		{"llm.quarantine", "off", "on: documents that try to instruct it are not shown to it; off: they are only flagged"},
		{"llm.refresh", "1", "documents a second that are made anew at most, most used first, once another prompt or model would make them, or the model is back; 0: none"},
		{"llm.refresh_after", "10m0s", "how long a document waits that rules made because the model was away or its budget spent, before it is tried again"},
		{"models.dir", "", "folder of `toolstream models`; empty is models in the data folder"},
		{"trainer.settle", "5s", "how long after its last feedback a search is learned from"},
		{"trainer.publish", "1m0s", "shortest time between two versions of the weights"},
		{"trainer.min_pairs", "100", "pairs of a used and a skipped result before learned weights serve"},
		{"trainer.sample", "30", "searches that learned weights are judged by before they serve, and live ones before they are rolled back"},
		{"trainer.half_life", "336h0m0s", "how long it takes until what was used counts half"},
	}
}

// links are the variables that Kubernetes sets in a pod for each service beside it, such
// as TOOLSTREAM_QUERY_PORT.
var links = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT|PORT)(_[A-Z0-9_]+)?$`)

// Strays returns the names of those variables of an environment, as os.Environ has it,
// that begin as settings of a section do and set none.
func Strays(environment []string) (names []string) {
	sections, known := map[string]bool{}, map[string]bool{}
	for _, key := range Keys() {
		known[key.Env()] = true
		if section, _, deeper := strings.Cut(key.Name, "."); deeper {
			sections[strings.ToUpper(section)] = true
		}
	}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, EnvPrefix)
		section, _, deeper := strings.Cut(rest, "_")
		if ours && deeper && value != "" && sections[section] && !known[name] && !links.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func defaultData() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "toolstream")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "toolstream")
	}
	return "toolstream-data"
}

// Wrong is the error for a setting that only its use shows to be wrong, as one that names
// a file which is not there.
type Wrong struct{ Err error }

func (w Wrong) Error() string { return w.Err.Error() }

// Unwrap returns what is wrong.
func (w Wrong) Unwrap() error { return w.Err }

// Load merges the defaults, the file at path (none when empty), the
// environment and the given flag values, and validates the outcome. A key
// that does not exist is an error that names it.
func Load(path string, flags map[string]any) (Config, error) {
	k := koanf.New(".")
	if err := merge(k, path, flags); err != nil {
		return Config{}, err
	}
	if err := check(k); err != nil {
		return Config{}, err
	}
	var c Config
	if err := k.UnmarshalWithConf("", &c, koanf.UnmarshalConf{Tag: "koanf"}); err != nil {
		return Config{}, fmt.Errorf("config: %w", err)
	}
	return c, c.Validate()
}

// check refuses what is no setting, and numbers that would be read as others: a time
// without a unit, which would be nanoseconds, and a fraction where whole ones count.
func check(k *koanf.Koanf) error {
	for _, name := range k.Keys() {
		if !slices.ContainsFunc(Keys(), func(key Key) bool { return key.Name == name }) {
			return unknown(name)
		}
		field, _ := fieldOf(reflect.TypeFor[Config](), name)
		value := k.Get(name)
		if err := single(name, value); err != nil {
			return err
		}
		_, text := value.(string)
		if field == reflect.TypeFor[time.Duration]() && !text {
			return fmt.Errorf("config: %s is %v: want a time with its unit, such as 30s or 5m", name, value)
		}
		if fraction, ok := value.(float64); ok && field.Kind() == reflect.Int && fraction != math.Trunc(fraction) {
			return fmt.Errorf("config: %s is %v: want a whole number", name, value)
		}
	}
	return nil
}

// unknown says what a name is that no setting has: a group of them, something in one, or
// nothing.
func unknown(name string) error {
	for _, key := range Keys() {
		if strings.HasPrefix(key.Name, name+".") {
			return fmt.Errorf("config: %s is a group of settings and wants a mapping of them, such as %s; `toolstream config print` lists them all", name, key.Name)
		}
		if strings.HasPrefix(name, key.Name+".") {
			return single(key.Name, map[string]any{})
		}
	}
	return fmt.Errorf("config: no setting is called %q; `toolstream config print` lists them all", name)
}

// single refuses what holds several values.
func single(name string, value any) error {
	switch reflect.ValueOf(value).Kind() {
	case reflect.Map:
		return fmt.Errorf("config: %s is a mapping: want one value", name)
	case reflect.Slice:
		return fmt.Errorf("config: %s is a list: want one value", name)
	}
	return nil
}

// fieldOf returns the type of what a setting or a section is read into.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	name, rest, deeper := strings.Cut(name, ".")
	for i := range t.NumField() {
		switch f := t.Field(i); {
		case f.Tag.Get("koanf") != name:
		case deeper && f.Type.Kind() == reflect.Struct:
			return fieldOf(f.Type, rest)
		default:
			return f.Type, !deeper
		}
	}
	return nil, false
}

func merge(k *koanf.Koanf, path string, flags map[string]any) error {
	defaults, names := map[string]any{}, map[string]string{}
	for _, key := range Keys() {
		defaults[key.Name] = key.Default
		names[key.Env()] = key.Name
	}
	if err := k.Load(confmap.Provider(defaults, "."), nil); err != nil {
		return fmt.Errorf("config: defaults: %w", err)
	}
	if path != "" {
		if err := mergeFile(k, path); err != nil {
			return fmt.Errorf("config: read %s: %w", path, err)
		}
	}
	environment := env.Provider(".", env.Opt{Prefix: EnvPrefix, TransformFunc: func(name, value string) (string, any) {
		if value == "" {
			return "", nil // set to nothing is not set
		}
		return names[name], value // other TOOLSTREAM_ variables belong to the client or to tests
	}})
	if err := k.Load(environment, nil); err != nil {
		return fmt.Errorf("config: environment: %w", err)
	}
	if err := k.Load(confmap.Provider(flags, "."), nil); err != nil {
		return fmt.Errorf("config: flags: %w", err)
	}
	return nil
}

// mergeFile merges what a file sets. What it names and leaves empty is not set.
func mergeFile(k *koanf.Koanf, path string) error {
	f := koanf.New(".")
	err := f.Load(file.Provider(path), yaml.Parser())
	if err != nil && strings.Contains(err.Error(), "cannot unmarshal") {
		return errors.New("it is no mapping: want settings such as listen: 127.0.0.1:8665")
	}
	if err != nil {
		return err
	}
	for _, name := range f.Keys() {
		if _, known := fieldOf(reflect.TypeFor[Config](), name); known && f.Get(name) == nil {
			f.Delete(name)
		}
	}
	return k.Merge(f)
}

// Vectors is where a query replica searches vectors: VectorsWeaviate or
// VectorsReplica.
func (c Config) Vectors() string {
	switch {
	case c.Query.Vectors != VectorsAuto:
		return c.Query.Vectors
	case c.Weaviate.URL != "":
		return VectorsWeaviate
	}
	return VectorsReplica
}

// ModelsDir is where the files of models lie.
func (c Config) ModelsDir() string {
	if c.Models.Dir != "" {
		return c.Models.Dir
	}
	return filepath.Join(c.Data, "models")
}

// Values returns every setting as text, by name, secrets blanked.
func (c Config) Values() map[string]string {
	values := map[string]string{
		"data":            c.Data,
		"listen":          c.Listen,
		"bus.accept_loss": strconv.FormatBool(c.Bus.AcceptLoss),
		"nats.listen":     c.NATS.Listen,
		"nats.token":      secret(c.NATS.Token),
		"nats.url":        c.NATS.URL, "nats.prefix": c.NATS.Prefix, "nats.replicas": strconv.Itoa(c.NATS.Replicas), "nats.credentials_file": c.NATS.CredentialsFile, "nats.nkey_file": c.NATS.NKeyFile,
		"nats.ca_file": c.NATS.CAFile, "nats.cert_file": c.NATS.CertFile, "nats.key_file": c.NATS.KeyFile,
		"weaviate.url": c.Weaviate.URL, "weaviate.grpc": c.Weaviate.GRPC, "weaviate.api_key": secret(c.Weaviate.APIKey),
		"weaviate.alias": c.Weaviate.Alias, "query.vectors": c.Query.Vectors,
		"query.rewrite_budget": c.Query.RewriteBudget.String(), "query.speculative": strconv.FormatBool(c.Query.Speculative),
		"query.rerank":      c.Query.Rerank,
		"query.exploration": strconv.FormatFloat(c.Query.Exploration, 'g', -1, 64),
		"query.shadow":      strconv.FormatFloat(c.Query.Shadow, 'g', -1, 64),
		"kafka.brokers":     c.Kafka.Brokers, "kafka.prefix": c.Kafka.Prefix,
		"kafka.partitions": strconv.Itoa(c.Kafka.Partitions), "kafka.replication": strconv.Itoa(c.Kafka.Replication),
		"kafka.apply": strconv.FormatBool(c.Kafka.Apply), "kafka.session": c.Kafka.Session.String(),
		"kafka.tls":     strconv.FormatBool(c.Kafka.TLS),
		"kafka.ca_file": c.Kafka.CAFile, "kafka.cert_file": c.Kafka.CertFile, "kafka.key_file": c.Kafka.KeyFile,
		"kafka.sasl": c.Kafka.SASL, "kafka.username": c.Kafka.Username, "kafka.password": secret(c.Kafka.Password),
		"peers.ingest": c.Peers.Ingest, "peers.query": c.Peers.Query, "peers.trainer": c.Peers.Trainer,
		"auth.tokens_file": c.Auth.TokensFile, "auth.hosts": c.Auth.Hosts,
		"events.origins": c.Events.Origins,
		"log.level":      c.Log.Level,
		"log.format":     c.Log.Format,

		"embedder.model":           c.Embedder.Model,
		"embedder.url":             c.Embedder.URL,
		"embedder.api_key":         secret(c.Embedder.APIKey),
		"embedder.name":            c.Embedder.Name,
		"embedder.dimensions":      strconv.Itoa(c.Embedder.Dimensions),
		"embedder.document_prefix": c.Embedder.DocumentPrefix,
		"embedder.query_prefix":    c.Embedder.QueryPrefix,
		"embedder.batch":           strconv.Itoa(c.Embedder.Batch),
		"embedder.parallel":        strconv.Itoa(c.Embedder.Parallel),
		"embedder.timeout":         c.Embedder.Timeout.String(),
		"models.dir":               c.Models.Dir,

		"trainer.settle":    c.Trainer.Settle.String(),
		"trainer.publish":   c.Trainer.Publish.String(),
		"trainer.min_pairs": strconv.Itoa(c.Trainer.MinPairs),
		"trainer.sample":    strconv.Itoa(c.Trainer.Sample),
		"trainer.half_life": c.Trainer.HalfLife.String(),
	}
	maps.Copy(values, c.LLM.values())
	maps.Copy(values, c.Rerank.values())
	return values
}

func secret(value string) string {
	if value == "" {
		return ""
	}
	return "(set)"
}

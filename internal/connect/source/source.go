// Package source is the contract between the service of sources and its connectors: how a
// source is declared, how it lists its documents, and how it fails.
package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	pathpkg "path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The kinds of sources.
const (
	MCP     = "mcp"     // an MCP server
	OpenAPI = "openapi" // OpenAPI documents behind a URL
	Folder  = "folder"  // documents in a folder
	A2A     = "a2a"     // an agent, by its card

	// These list other sources.
	MCPRegistry   = "mcp-registry"   // a registry of MCP servers
	DockerCatalog = "docker-catalog" // a catalogue of Docker's MCP Toolkit
	Kubernetes    = "kubernetes"     // the operator's cluster, by its objects
	Caddy         = "caddy"          // a Caddy, by its routes
	Traefik       = "traefik"        // a Traefik, by its routes
	Kong          = "kong"           // the routes of a Kong gateway
	Events        = "events"         // any gateway or portal that lists its APIs as JSON, described by a mapping

	// These hand out the documents of others.
	Azure = "azure" // the APIs of an Azure API Management service
	AWS   = "aws"   // the stages of Amazon API Gateway in a region, or the records of an AWS Agent Registry
)

// Kinds are all kinds of sources, in the order of the documentation.
var Kinds = []string{MCP, OpenAPI, Folder, A2A, MCPRegistry, DockerCatalog, Kubernetes, Kong, Azure, AWS, Caddy, Traefik, Events}

// Findable are the kinds of sources that another source may name: no kind that reads files or
// names sources itself.
var Findable = []string{MCP, OpenAPI, A2A}

// Finds reports whether sources of a kind name other ones.
func Finds(kind string) bool { return kind != Folder && !slices.Contains(Findable, kind) }

// What happens to tools that a source no longer lists.
const (
	Guarded = "guarded" // they are deleted, but more than half at once only after an operator confirms it
	Always  = "always"  // they are deleted
	Never   = "never"   // they stay
)

// Spec is a source as it is declared.
type Spec struct {
	Kind         string   `json:"kind" doc:"mcp, openapi, folder, a2a, mcp-registry, docker-catalog, kubernetes, kong, azure, aws, caddy, traefik or events."`
	URL          string   `json:"url,omitempty" maxLength:"2048" doc:"Address of the source: http or https; path of a folder."`
	Command      []string `json:"command,omitempty" nullable:"false" maxItems:"64" doc:"In place of url, of an MCP server that is started: the program and its arguments."`
	Auth         *Auth    `json:"auth,omitempty"`
	Hook         *Auth    `json:"hook,omitempty" doc:"Credential of kind hook that signs events of the source. Absent: the source takes no events."`
	Every        Duration `json:"every,omitempty" doc:"Longest time between two looks at the source, such as 5m; absent: as the source asks, else five minutes."`
	Proxy        string   `json:"proxy,omitempty" maxLength:"2048" doc:"Kind kong: address of the gateway's routes."`
	Mapping      *Mapping `json:"mapping,omitempty"`
	Provider     string   `json:"provider,omitempty" doc:"Provider that owns the tools; absent: the source's name. If there are several documents, each has a provider below it."`
	AllowPrivate bool     `json:"allow_private,omitempty" doc:"Private addresses may be reached, as far as the operator's settings allow them."`
	Deletes      string   `json:"deletes,omitempty" enum:"guarded,always,never" doc:"What happens to tools that the source no longer lists. guarded (the default): they are deleted, but more than half at once only after confirmation."`
	Paused       bool     `json:"paused,omitempty" doc:"The source is not looked at."`
	Allow        []string `json:"allow,omitempty" nullable:"false" maxItems:"1000" doc:"For sources that name others: patterns of accepted names, such as io.github.acme/*; absent: all."`
	Deny         []string `json:"deny,omitempty" nullable:"false" maxItems:"1000" doc:"Patterns of the names that are not taken, allowed or not."`
	Limit        int      `json:"limit,omitempty" minimum:"0" maximum:"10000" doc:"How many sources are taken; absent: 500."`
	Namespaces   []string `json:"namespaces,omitempty" nullable:"false" maxItems:"100" doc:"Kind kubernetes: namespaces to search; absent: all namespaces in the operator's settings."`
	Document     string   `json:"document,omitempty" maxLength:"1024" doc:"Kinds caddy and traefik: path of the OpenAPI document below each route; absent: openapi.json."`
	Selector     string   `json:"selector,omitempty" maxLength:"1024" doc:"Kind kubernetes: labels of the objects, such as team=shop."`
}

// Auth names the credential of a source.
type Auth struct {
	Credential string `json:"credential" doc:"Name of a credential in the operator's settings."`
}

// Duration is a time span that is text in JSON, such as "5m0s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return errors.New("want a time with its unit, such as 30s or 5m")
	}
	*d = Duration(parsed)
	return nil
}

// The bounds of Spec.Every.
const (
	MinEvery = 5 * time.Second
	MaxEvery = 7 * 24 * time.Hour
)

// nameForm matches the name of a source.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// ValidateName checks the name of a source. The error is a *schema.Invalid.
func ValidateName(name string) error {
	if !nameForm.MatchString(name) {
		return invalid("/name", name, "must be 1 to 64 letters, digits, _ and -, the first a letter or a digit")
	}
	return nil
}

func invalid(path, value, reason string) error {
	return &schema.Invalid{Path: path, Value: schema.Quote(value), Reason: reason}
}

// misplaced returns the error of a field, without its value.
func misplaced(path, reason string) error { return &schema.Invalid{Path: path, Reason: reason} }

// Validate checks what can be checked without the operator's settings. The error is a
// *schema.Invalid.
func (s Spec) Validate() error {
	every := time.Duration(s.Every)
	switch {
	case s.Deletes != "" && !slices.Contains([]string{Guarded, Always, Never}, s.Deletes):
		return invalid("/deletes", s.Deletes, "must be guarded, always or never")
	case every != 0 && (every < MinEvery || every > MaxEvery):
		return invalid("/every", every.String(), "must be 5s to 168h")
	case s.Provider != "" && schema.ValidateID(s.Provider) != nil:
		return invalid("/provider", s.Provider, "is not an id")
	case s.Limit < 0 || s.Limit > MaxFound:
		return invalid("/limit", strconv.Itoa(s.Limit), "must be 0 to 10000")
	}
	if err := cmp.Or(validPatterns("/allow", s.Allow), validPatterns("/deny", s.Deny)); err != nil {
		return err
	}
	switch {
	case s.Kind == Kubernetes:
		return s.validCluster()
	case s.Document != "" && s.Kind != Caddy && s.Kind != Traefik:
		return invalid("/document", s.Document, "is for the kinds caddy and traefik alone")
	case len(s.Namespaces) > 0 || s.Selector != "":
		return misplaced("/namespaces", "namespaces and selector are for the kind kubernetes alone")
	case s.Kind == Folder:
		if !filepath.IsAbs(s.URL) {
			return invalid("/url", s.URL, "must be the absolute path of a folder")
		}
		return nil
	case s.Kind == MCP && len(s.Command) > 0:
		if s.URL != "" || s.Command[0] == "" {
			return misplaced("/command", "must be a program and its arguments, without a url")
		}
		return nil
	case len(s.Command) > 0:
		return misplaced("/command", "is for the kind mcp alone")
	case (s.Kind == Kong) != (s.Proxy != ""):
		return misplaced("/proxy", "is for the kind kong, which needs it")
	case (s.Kind == Events) != (s.Mapping != nil):
		return misplaced("/mapping", "is for the kind events, which needs it")
	case s.Mapping != nil:
		if err := s.Mapping.Validate(); err != nil {
			return err
		}
	case s.Proxy != "":
		if err := validURL("/proxy", s.Proxy); err != nil {
			return err
		}
	}
	return validURL("/url", s.URL)
}

// The default and the maximum of Spec.Limit.
const (
	DefaultFound = 500
	MaxFound     = 10_000
)

func validPatterns(path string, patterns []string) error {
	for _, p := range patterns {
		if _, err := pathpkg.Match(p, ""); err != nil || p == "" {
			return invalid(path, p, "must be a pattern such as io.github.acme/*")
		}
	}
	return nil
}

// namespaceForm matches a namespace (RFC 1123).
var namespaceForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (s Spec) validCluster() error {
	if s.URL != "" || len(s.Command) > 0 || s.Auth != nil {
		return invalid("/url", s.URL, "must be absent, like command and auth: the server's settings name the cluster")
	}
	for _, n := range s.Namespaces {
		if !namespaceForm.MatchString(n) {
			return invalid("/namespaces", n, "is not the name of a namespace")
		}
	}
	return nil
}

// Takes reports whether Allow and Deny admit a source of the given name. In a pattern, * matches
// any characters except a slash (path.Match).
func (s Spec) Takes(name string) bool {
	within := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := pathpkg.Match(p, name) // Validate has refused malformed patterns
			return ok
		})
	}
	return (len(s.Allow) == 0 || within(s.Allow)) && !within(s.Deny)
}

func validURL(path, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return misplaced(path, "must be an address such as https://host/path")
	case u.User != nil:
		return misplaced(path, "must not hold a user or password: name a credential")
	}
	return nil
}

// Root returns the provider that owns the tools of the source, or the parent of the providers
// that do.
func (s Spec) Root(name string) string { return cmp.Or(s.Provider, name) }

// Describe returns the address of the source, in a line.
func (s Spec) Describe() string {
	return cmp.Or(s.URL, strings.Join(s.Command, " "), strings.Join(s.Namespaces, ","))
}

// Endpoint returns a hash of where the source is: of its kind, and its address or command.
func (s Spec) Endpoint() string {
	sum := sha256.Sum256([]byte(s.Kind + "\x00" + s.URL + "\x00" + strings.Join(s.Command, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Place defines how a connector reaches a source, within the operator's limits.
type Place struct {
	URL     string
	Command []string
	Env     []string // additional variables of the command, KEY=VALUE

	Namespaces []string // of a cluster; empty: all
	Selector   string   // of labels of its objects
	Document   string   // path of a document below each route of a gateway; empty: the usual one

	Proxy   string   // as Spec has it
	Mapping *Mapping // as Spec has it

	Client *http.Client // reaches only permitted addresses, and sends the credential
	OAuth  *OAuth       // nil: no token is fetched
	Limits Limits
}

// OAuth are client credentials, which fetch a token (RFC 6749, section 4.4).
type OAuth struct {
	ClientID, Secret string
	Client           *http.Client // reaches the hosts that may learn the secret, and no others
}

// Limits bound one list of a source.
type Limits struct {
	Pages int   // of a list in pages
	Tools int   // of all pages
	Bytes int64 // of all pages or documents, decompressed
}

// The bounds of one page of a list, or of one message of a server, in addition to Limits.
const (
	MaxPage  = 16 << 20 // bytes, decompressed
	maxNodes = 500_000  // JSON values; each costs some two hundred bytes once it is decoded
	maxDepth = 1000
)

// Page returns the bounds of one page, which is counted before it is decoded.
func (l Limits) Page() jsondoc.Limits {
	return jsondoc.Limits{Bytes: int(min(l.Bytes, MaxPage)), Depth: maxDepth, Nodes: maxNodes, Elements: l.Tools}
}

// Decode decodes a page, as jsondoc.Unmarshal does. The error of a page beyond the bounds wraps
// ErrSize.
func (l Limits) Decode(page []byte, into any) error {
	return TooMuch(jsondoc.Unmarshal(page, l.Page(), into))
}

// TooMuch makes the error of a document that is beyond its bounds wrap ErrSize.
func TooMuch(err error) error {
	var refused *jsondoc.Error
	if errors.As(err, &refused) {
		switch refused.Reason {
		case jsondoc.TooLarge, jsondoc.TooManyNodes, jsondoc.TooDeep, jsondoc.Aliases:
			return fmt.Errorf("%w: %w", ErrSize, err)
		}
	}
	return err
}

// Connector reaches sources of one kind.
type Connector interface {
	// Connect reaches a source. Changed is called, from any goroutine, when the source reports
	// that its list has changed, or when a change may have been missed.
	Connect(ctx context.Context, at Place, changed func()) (Session, error)
}

// Session is the connection to one source. Its methods are not called concurrently, and after an
// error only Close may be called.
type Session interface {
	// List returns the whole list of the source, or an error: never a part. Unless whole is set,
	// it may report that the list has not changed since the last time.
	List(ctx context.Context, whole bool) (Listing, error)
	// Live reports whether the source announces changes of its list.
	Live() bool
	Close()
}

// Listing is the whole list of a source.
type Listing struct {
	Same      bool            // the list has not changed; the other fields are empty
	Documents []Document      // each of the same provider, or of its own, as Several says
	Several   bool            // each document has a provider of its own
	Owner     json.RawMessage // self-description of the source, as a provider's document; may be nil
	Fresh     time.Duration   // how long the list is fresh, according to the source; 0: unknown
	Private   bool            // the list is for its caller only, according to the source
	Found     []Found         // other sources that it names
}

// Found is a source that another source names, such as a server in a registry.
type Found struct {
	Name    string          // unique in the listing; empty: the entry cannot be read
	Spec    Spec            // kind and place; the rest comes from the source that names it
	Owner   json.RawMessage // its description, as a provider's document; may be nil
	Problem string          // why it cannot be read; empty: it can
}

// NeedsCommand is the problem of a found source that is a program to be started: nothing
// that a source names may start one.
const NeedsCommand = "it needs a command on your own machine: add it by hand"

// Document is one document of a listing, in any format.
type Document struct {
	Name   string // file name or address, for messages and to recognise the format
	Format string // as package formats names it; empty: recognise it
	Tool   bool   // it is one tool; if it cannot be read, the other documents still count
	Base   string // address for resolving relative addresses, in an archive the address of its root; empty: no base
	Raw    []byte
	Group  string // of a source that names others: the name of the described source

	Provider string // below the source's, of listings with Several; empty: from the document

	Problem string // of a tool, called Name, or of Provider, that must not be indexed: why; empty: it may be
}

// ErrAuth is wrapped by the error of a source that wants a credential, or another one.
var ErrAuth = errors.New("the source wants a credential")

// ErrRefused is wrapped by the error of a source that must not be looked at, or whose list
// must not be indexed.
var ErrRefused = errors.New("refused")

// RetryError is the error of a source that gives a time for the next attempt.
type RetryError struct {
	After time.Duration
	Err   error
}

func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RetryError) Unwrap() error { return e.Err }

// Refusal returns the error of a failed HTTP answer: ErrAuth if the source requires a credential,
// a *RetryError if it gives a time for the next attempt, or err as it is.
func Refusal(status int, after time.Duration, err error) error {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: %w", ErrAuth, err)
	case after > 0:
		return &RetryError{After: after, Err: err}
	}
	return err
}

// RetryAfter returns the seconds of the header Retry-After (RFC 9110, section 10.2.3). Dates do
// not count.
func RetryAfter(resp *http.Response) time.Duration {
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return time.Duration(max(seconds, 0)) * time.Second
}

// ErrSize is the error of an answer that is too large.
var ErrSize = errors.New("the list is too large")

// Fetch sends a request and returns the body of the answer, of at most limit bytes, and its
// header fields. An answer that is not 200 is an error, as Refusal returns it.
func Fetch(client *http.Client, req *http.Request, limit int64) ([]byte, http.Header, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, nil, Refusal(resp.StatusCode, RetryAfter(resp), fmt.Errorf("%s answers %s", req.URL.Redacted(), resp.Status))
	}
	text, err := io.ReadAll(inflight.Values(req.Context(), io.LimitReader(resp.Body, limit+1)))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", req.URL.Redacted(), err)
	case int64(len(text)) > limit:
		return nil, nil, ErrSize
	}
	return text, resp.Header, nil
}

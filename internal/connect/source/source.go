// Package source is what the service that keeps sources and the connectors that reach
// them agree on: how a source is declared, what it lists, and how it fails.
package source

import (
	"cmp"
	"context"
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

	"github.com/toolstream/toolstream/pkg/schema"
)

// The kinds of sources.
const (
	MCP     = "mcp"     // an MCP server
	OpenAPI = "openapi" // OpenAPI documents behind a URL
	Folder  = "folder"  // documents in a folder
	A2A     = "a2a"     // an agent, by its card

	// What these list are other sources.
	MCPRegistry   = "mcp-registry"   // a registry of MCP servers
	DockerCatalog = "docker-catalog" // a catalogue of Docker's MCP Toolkit
	Kubernetes    = "kubernetes"     // the operator's cluster, by its objects
	Caddy         = "caddy"          // a Caddy, by its routes
	Traefik       = "traefik"        // a Traefik, by its routes
	Kong          = "kong"           // the routes of a Kong gateway
	Events        = "events"         // any gateway or portal that lists its APIs as JSON, as a mapping says

	// What hands out the documents of others.
	Azure = "azure" // the APIs of an Azure API Management service
	AWS   = "aws"   // the stages of Amazon API Gateway in a region, or the records of an AWS Agent Registry
)

// Kinds are all of them, in the order in which they are explained.
var Kinds = []string{MCP, OpenAPI, Folder, A2A, MCPRegistry, DockerCatalog, Kubernetes, Kong, Azure, AWS, Caddy, Traefik, Events}

// Findable are the kinds of the sources that another one may name: none that reads files,
// and none that names others in its turn.
var Findable = []string{MCP, OpenAPI, A2A}

// Finds reports whether sources of a kind name other ones.
func Finds(kind string) bool { return kind != Folder && !slices.Contains(Findable, kind) }

// What becomes of tools that a source no longer lists.
const (
	Guarded = "guarded" // they are deleted, but more than half at once only once an operator confirms it
	Always  = "always"  // they are deleted
	Never   = "never"   // they stay
)

// Spec is a source as it is declared.
type Spec struct {
	Kind         string   `json:"kind" doc:"mcp, openapi, folder, a2a, mcp-registry, docker-catalog, kubernetes, kong, azure, aws, caddy, traefik or events."`
	URL          string   `json:"url,omitempty" maxLength:"2048" doc:"Where the source is: http or https, and of a folder its path."`
	Command      []string `json:"command,omitempty" nullable:"false" maxItems:"64" doc:"In place of url, of an MCP server that is started: the program and its arguments."`
	Auth         *Auth    `json:"auth,omitempty"`
	Hook         *Auth    `json:"hook,omitempty" doc:"What the senders of events prove themselves with: a credential of kind hook. Absent: the source takes no events."`
	Every        Duration `json:"every,omitempty" doc:"Longest time between two looks at the source, such as 5m; absent: what the source asks for, else five minutes."`
	Proxy        string   `json:"proxy,omitempty" maxLength:"2048" doc:"Of the kind kong: the address at which the gateway serves its routes."`
	Mapping      *Mapping `json:"mapping,omitempty"`
	Provider     string   `json:"provider,omitempty" doc:"Provider that owns the tools; absent: the source's name. Where there are several documents, each has a provider below it."`
	AllowPrivate bool     `json:"allow_private,omitempty" doc:"Private addresses may be reached, as far as the operator's settings allow them."`
	Deletes      string   `json:"deletes,omitempty" enum:"guarded,always,never" doc:"What becomes of tools that the source no longer lists. guarded (the default): they are deleted, but more than half at once only once that is confirmed."`
	Paused       bool     `json:"paused,omitempty" doc:"The source is not looked at."`
	Allow        []string `json:"allow,omitempty" nullable:"false" maxItems:"1000" doc:"Of a source that names others: patterns of the names that are taken, such as io.github.acme/*; absent: all."`
	Deny         []string `json:"deny,omitempty" nullable:"false" maxItems:"1000" doc:"Patterns of the names that are not taken, allowed or not."`
	Limit        int      `json:"limit,omitempty" minimum:"0" maximum:"10000" doc:"How many sources are taken; absent: 500."`
	Namespaces   []string `json:"namespaces,omitempty" nullable:"false" maxItems:"100" doc:"Of the kind kubernetes: where objects are looked for; absent: wherever the operator's settings allow it."`
	Document     string   `json:"document,omitempty" maxLength:"1024" doc:"Of the kinds caddy and traefik: path below each route at which its OpenAPI document is; absent: openapi.json."`
	Selector     string   `json:"selector,omitempty" maxLength:"1024" doc:"Of the kind kubernetes: labels that the objects have, such as team=shop."`
}

// Auth names what a source is asked with.
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

// nameForm is that of a source's name.
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

// misplaced is what is wrong, whatever its value.
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
		return invalid("/provider", s.Provider, "is no id")
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
			return misplaced("/command", "must be a program and its arguments, without a url beside it")
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

// The bounds of Spec.Limit, and what it is where none is given.
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

// namespaceForm is that of a namespace (RFC 1123).
var namespaceForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (s Spec) validCluster() error {
	if s.URL != "" || len(s.Command) > 0 || s.Auth != nil {
		return invalid("/url", s.URL, "the cluster is that of the server's settings: give no url, command or auth")
	}
	for _, n := range s.Namespaces {
		if !namespaceForm.MatchString(n) {
			return invalid("/namespaces", n, "is no name of a namespace")
		}
	}
	return nil
}

// Takes reports whether a name that the source gives another one is one of those that are
// taken. In a pattern * stands for any letters but a slash (path.Match).
func (s Spec) Takes(name string) bool {
	within := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := pathpkg.Match(p, name) // Validate has refused patterns that are none
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

// Root returns the provider that owns what the source of the name lists, or that stands
// above those that do.
func (s Spec) Root(name string) string { return cmp.Or(s.Provider, name) }

// Describe returns where the source is, in a line.
func (s Spec) Describe() string {
	return cmp.Or(s.URL, strings.Join(s.Command, " "), strings.Join(s.Namespaces, ","))
}

// Place is where a connector finds a source, within what the operator allows.
type Place struct {
	URL     string
	Command []string
	Env     []string // variables of the command beside those that every one gets, KEY=VALUE

	Namespaces []string // of a cluster; none: all
	Selector   string   // of labels of its objects
	Document   string   // path of a document below each route of a gateway; empty: the usual one

	Proxy   string   // as Spec has it
	Mapping *Mapping // as Spec has it

	Client *http.Client // reaches what may be reached, and sends the credential
	OAuth  *OAuth       // nil: no token is to be fetched
	Limits Limits
}

// OAuth is what a token is fetched with (RFC 6749, section 4.4).
type OAuth struct {
	ClientID, Secret string
	Client           *http.Client // reaches the hosts that may learn the secret, and no others
}

// Limits bound one list of what a source has.
type Limits struct {
	Pages int   // of a list in pages
	Tools int   // of all pages
	Bytes int64 // of all pages or documents, decompressed
}

// Connector reaches sources of one kind.
type Connector interface {
	// Connect reaches a source. Changed is called, from any goroutine, when the source says
	// that its list has changed, or may have changed unheard.
	Connect(ctx context.Context, at Place, changed func()) (Session, error)
}

// Session is the connection to one source. Its methods are not called concurrently, and
// after an error nothing but Close.
type Session interface {
	// List returns all that the source has, or an error: never a part. Unless whole is set
	// it may say that this is the same as the last time.
	List(ctx context.Context, whole bool) (Listing, error)
	// Live reports whether the source says when its list changes.
	Live() bool
	Close()
}

// Listing is all that a source has.
type Listing struct {
	Same      bool            // it is what the session listed before; all else is empty
	Documents []Document      // each of the same provider, or of its own, as Several says
	Several   bool            // each document has a provider of its own
	Owner     json.RawMessage // what the source says of itself, as a provider's document; nil: nothing
	Fresh     time.Duration   // how long the source takes the list to be true; 0: it does not say
	Private   bool            // the source says that the list is for who asked alone
	Found     []Found         // other sources that it names
}

// Found is a source that another one names, such as a server in a registry.
type Found struct {
	Name    string          // as the other one calls it, unique in its listing; empty: of one that cannot be read
	Spec    Spec            // kind and place; the rest is that of the source that names it
	Owner   json.RawMessage // what is said of it, as a provider's document; nil: nothing
	Problem string          // why it cannot be looked at; empty: it can
}

// NeedsCommand is the problem of a found source that is a program to be started: nothing
// that a source names may start one.
const NeedsCommand = "it needs a command on your own machine: add it by hand"

// Document is one document of a listing, in any format.
type Document struct {
	Name   string // file name or address, for messages and to recognise the format
	Format string // as package formats names it; empty: recognise it
	Tool   bool   // it is one tool, and says nothing of others where it cannot be read
	Base   string // address against which relative addresses in it are resolved, of an archive that of its root; empty: none
	Raw    []byte
	Group  string // of a source that names others: that of them which the document is about

	Provider string // of its own, below the source's; empty: what it says of itself. Of listings of several.

	Problem string // of a tool, called Name, or of Provider, that must not be indexed: why; empty: it may be
}

// ErrAuth is wrapped by the error of a source that wants a credential, or another one.
var ErrAuth = errors.New("the source wants a credential")

// ErrRefused is wrapped by the error of a source that must not be looked at, or whose list
// must not be indexed.
var ErrRefused = errors.New("refused")

// RetryError is the error of a source that says when to ask again.
type RetryError struct {
	After time.Duration
	Err   error
}

func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RetryError) Unwrap() error { return e.Err }

// Refusal returns the error of an HTTP answer that is none of success: one that wants a
// credential, one that says after what time to ask again, or err as it is.
func Refusal(status int, after time.Duration, err error) error {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: %w", ErrAuth, err)
	case after > 0:
		return &RetryError{After: after, Err: err}
	}
	return err
}

// RetryAfter returns after what time an answer says to ask again (RFC 9110, section 10.2.3),
// 0 where it does not say. A date is not waited for.
func RetryAfter(resp *http.Response) time.Duration {
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return time.Duration(max(seconds, 0)) * time.Second
}

// ErrSize is the error of an answer that is larger than it may be.
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
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", req.URL.Redacted(), err)
	case int64(len(text)) > limit:
		return nil, nil, ErrSize
	}
	return text, resp.Header, nil
}

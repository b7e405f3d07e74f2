package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// Registry reads registries of MCP servers.
type Registry struct{}

// Connect implements source.Connector. Nothing is asked before the first list.
func (Registry) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	u, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	// The address may name the list of servers, a version of the API, or the registry.
	switch path := strings.TrimRight(u.Path, "/"); {
	case strings.HasSuffix(path, "/servers"):
	case versionForm.MatchString(path):
		u = u.JoinPath("servers")
	default:
		u = u.JoinPath("v0.1", "servers")
	}
	return &registrySession{at: at, endpoint: u}, nil
}

var versionForm = regexp.MustCompile(`/v0(\.\d+)?$`)

// registrySession is the known content of a registry.
type registrySession struct {
	at       source.Place
	endpoint *url.URL
	servers  map[string]knownServer // by name
	newest   time.Time              // of any known change, on the registry's clock; zero: it gives no times
}

// knownServer is an entry as it was listed.
type knownServer struct {
	ServerEntry
	raw     json.RawMessage
	problem string // why it cannot be read
}

// Live implements source.Session.
func (*registrySession) Live() bool { return false }

// Close implements source.Session.
func (*registrySession) Close() {}

// registryOverlap is subtracted from the time of the newest known change: an older change may
// become visible later.
const registryOverlap = 5 * time.Minute

// List implements source.Session. Between whole lists it asks for changes, if the registry gives
// their times.
func (s *registrySession) List(ctx context.Context, whole bool) (source.Listing, error) {
	since := time.Time{}
	if !whole && !s.newest.IsZero() {
		since = s.newest.Add(-registryOverlap)
	}
	r := &registryReading{registrySession: s, left: s.at.Limits.Bytes}
	entries, err := r.all(ctx, since)
	if err != nil {
		return source.Listing{}, err
	}
	before := s.servers
	if since.IsZero() {
		s.servers, s.newest = map[string]knownServer{}, time.Time{}
	}
	changed := since.IsZero() && len(entries) != len(before)
	for _, e := range entries {
		old, there := before[e.Server.Name]
		changed = changed || !there || !bytes.Equal(old.raw, e.raw)
		s.take(e, r.now)
	}
	if !changed && !whole {
		return source.Listing{Same: true}, nil
	}
	return source.Listing{Found: s.found()}, nil
}

// take adds an entry, unless it is of an earlier version than the known entry. Now is the
// registry's time, which bounds the times of changes.
func (s *registrySession) take(e knownServer, now time.Time) {
	old, there := s.servers[e.Server.Name]
	meta, before := e.Meta.Official, old.Meta.Official
	succeeds := !meta.PublishedAt.Before(before.PublishedAt)
	if meta.IsLatest != before.IsLatest {
		succeeds = meta.IsLatest
	}
	if !there || old.Server.Version == e.Server.Version || succeeds {
		s.servers[e.Server.Name] = e
	}
	at := meta.UpdatedAt
	if !now.IsZero() && at.After(now) {
		at = now
	}
	if at.After(s.newest) {
		s.newest = at
	}
}

// found returns the servers, by name, that are neither deleted nor deprecated.
func (s *registrySession) found() []source.Found {
	var all []source.Found
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		k := s.servers[name]
		switch k.Meta.Official.Status {
		case statusDeleted, statusDeprecated:
			continue
		}
		f := source.Found{Name: name, Problem: k.problem}
		if f.Problem == "" {
			f.Spec, f.Problem = k.Server.reached()
			f.Owner, _ = json.Marshal(map[string]string{"name": cmp.Or(k.Server.Title, k.Server.Name), "description": k.Server.Description}) // texts always encode
		}
		all = append(all, f)
	}
	return all
}

// reached returns how the server is reached, or why it cannot be.
func (s ServerDetail) reached() (source.Spec, string) {
	problem := "it names no address that can be asked"
	if len(s.Packages) > 0 {
		problem = source.NeedsCommand
	}
	for _, kind := range []string{Streamable, SSE} {
		for _, r := range s.Remotes {
			if r.Type != kind {
				continue
			}
			address, needs := r.address()
			if needs == "" {
				return source.Spec{Kind: source.MCP, URL: address}, ""
			}
			problem = "it needs " + needs + ": add it by hand"
		}
	}
	return source.Spec{}, problem
}

var variableForm = regexp.MustCompile(`\{([^{}]+)\}`)

// address returns the address with its variables filled, or the input that it needs.
func (r ServerRemote) address() (address, needs string) {
	address = variableForm.ReplaceAllStringFunc(r.URL, func(braced string) string {
		name := braced[1 : len(braced)-1]
		value := cmp.Or(r.Variables[name].Value, r.Variables[name].Default)
		if value == "" && needs == "" {
			needs = fmt.Sprintf("the variable %q of its address", name)
		}
		return value
	})
	for _, h := range r.Headers {
		if h.Required && needs == "" {
			needs = fmt.Sprintf("the header %q", h.Name)
		}
	}
	return address, needs
}

// registryReading is one list of a registry.
type registryReading struct {
	*registrySession
	left int64     // bytes that may still be read
	now  time.Time // the registry's time of the first page; zero: unknown
}

// Errors of registries.
var (
	errRegistryPages = errors.New("the list has no end, or too many pages")
	errRegistryMany  = errors.New("the registry has more servers than one source may name")
)

// registryPageSize is the maximum of the contract.
const registryPageSize = "100"

// all reads every page of the entries that changed since a time, or of all entries.
func (r *registryReading) all(ctx context.Context, since time.Time) ([]knownServer, error) {
	query := r.endpoint.Query()
	query.Set("limit", registryPageSize)
	query.Set("version", "latest")
	if !since.IsZero() {
		query.Set("updated_since", since.UTC().Format(time.RFC3339))
	}
	var all []knownServer
	seen := map[string]bool{}
	for n := 0; ; n++ {
		p, err := r.page(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, raw := range p.Servers {
			all = append(all, parseEntry(raw))
		}
		cursor := cmp.Or(p.Metadata.Next, p.Metadata.OldNext)
		switch {
		case len(all) > r.at.Limits.Tools:
			return nil, errRegistryMany
		case cursor == "":
			return all, nil
		case n+1 == r.at.Limits.Pages || seen[cursor]:
			return nil, errRegistryPages
		}
		seen[cursor] = true
		query.Set("cursor", cursor)
	}
}

// registryPage is one page as it is read.
type registryPage struct {
	Servers  []json.RawMessage `json:"servers"`
	Metadata struct {
		Next    string `json:"nextCursor"`
		OldNext string `json:"next_cursor"` // before version 0.1
	} `json:"metadata"`
}

func (r *registryReading) page(ctx context.Context, query url.Values) (registryPage, error) {
	address := *r.endpoint
	address.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return registryPage{}, err
	}
	req.Header.Set("Accept", "application/json")
	text, header, err := source.Fetch(r.at.Client, req, min(r.left, source.MaxPage))
	if err != nil {
		return registryPage{}, err
	}
	r.left -= int64(len(text))
	if r.now.IsZero() {
		r.now, _ = http.ParseTime(header.Get("Date")) // zero without the header
	}
	var p registryPage
	switch err := r.at.Limits.Decode(text, &p); {
	case errors.Is(err, source.ErrSize):
		return registryPage{}, err
	case err != nil || p.Servers == nil:
		return registryPage{}, fmt.Errorf("%s does not answer with a list of servers: it may be a login page, or not a registry", r.endpoint)
	}
	return p, nil
}

// parseEntry reads an entry. An unreadable entry has a problem, and its name if possible.
func parseEntry(raw json.RawMessage) knownServer {
	k := knownServer{raw: raw}
	err := json.Unmarshal(raw, &k.ServerEntry)
	if err == nil && k.Server.Name == "" {
		err = json.Unmarshal(raw, &k.Server) // before version 0.1
	}
	if err != nil || k.Server.Name == "" {
		var named struct {
			Server struct {
				Name string `json:"name"`
			} `json:"server"`
		}
		_ = json.Unmarshal(raw, &named) // the readable parts
		k.Server.Name, k.problem = named.Server.Name, "its entry cannot be read"
	}
	return k
}

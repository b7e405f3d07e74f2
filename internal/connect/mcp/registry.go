package mcpregistry

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

	"github.com/toolstream/toolstream/internal/source"
)

// Connector reads registries.
type Connector struct{}

// Connect implements source.Connector. Nothing is asked before the first list.
func (Connector) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	u, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	return &session{at: at, endpoint: endpoint(u)}, nil
}

var versionForm = regexp.MustCompile(`/v0(\.\d+)?$`)

// endpoint returns where servers are listed: the address itself where it ends so, else what
// it is the base of.
func endpoint(u *url.URL) *url.URL {
	switch path := strings.TrimRight(u.Path, "/"); {
	case strings.HasSuffix(path, "/servers"):
		return u
	case versionForm.MatchString(path):
		return u.JoinPath("servers")
	}
	return u.JoinPath("v0.1", "servers")
}

// session is what is known of a registry.
type session struct {
	at       source.Place
	endpoint *url.URL
	servers  map[string]known // by name
	newest   time.Time        // of any change that is known, on the registry's clock; zero: it tells no times
}

// known is an entry as it was listed.
type known struct {
	ServerEntry
	raw     json.RawMessage
	problem string // why it cannot be read
}

// Live implements source.Session.
func (*session) Live() bool { return false }

// Close implements source.Session.
func (*session) Close() {}

// overlap is how long before the newest known change changes are asked for: one may be
// seen after another that is newer.
const overlap = 5 * time.Minute

// List implements source.Session. Between whole lists it asks for changes, where the
// registry tells the times of them.
func (s *session) List(ctx context.Context, whole bool) (source.Listing, error) {
	since := time.Time{}
	if !whole && !s.newest.IsZero() {
		since = s.newest.Add(-overlap)
	}
	r := &reading{session: s, left: s.at.Limits.Bytes}
	entries, err := r.all(ctx, since)
	if err != nil {
		return source.Listing{}, err
	}
	before := s.servers
	if since.IsZero() {
		s.servers, s.newest = map[string]known{}, time.Time{}
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

// take notes an entry. Now is the registry's time, by which it cannot know of later changes.
func (s *session) take(e known, now time.Time) {
	old, there := s.servers[e.Server.Name]
	if !there || old.Server.Version == e.Server.Version || e.succeeds(old) {
		s.servers[e.Server.Name] = e
	}
	at := e.Meta.Official.UpdatedAt
	if !now.IsZero() && at.After(now) {
		at = now
	}
	if at.After(s.newest) {
		s.newest = at
	}
}

// succeeds reports whether an entry is of a later version than another one.
func (k known) succeeds(old known) bool {
	a, b := k.Meta.Official, old.Meta.Official
	if a.IsLatest != b.IsLatest {
		return a.IsLatest
	}
	return !a.PublishedAt.Before(b.PublishedAt)
}

// found returns the servers, by name, that are neither deleted nor deprecated.
func (s *session) found() []source.Found {
	var all []source.Found
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		k := s.servers[name]
		switch k.Meta.Official.Status {
		case Deleted, Deprecated:
			continue
		}
		f := source.Found{Name: name, Problem: k.problem}
		if f.Problem == "" {
			f.Spec, f.Problem = k.Server.reached()
			f.Owner = k.Server.owner()
		}
		all = append(all, f)
	}
	return all
}

// owner returns what is said of the server, as a provider's document.
func (s ServerDetail) owner() json.RawMessage {
	raw, _ := json.Marshal(map[string]string{"name": cmp.Or(s.Title, s.Name), "description": s.Description}) // texts always encode
	return raw
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

// address returns the address with its variables filled, or what a user has to give first.
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

// reading is one list of a registry.
type reading struct {
	*session
	left int64     // bytes that may still be read
	now  time.Time // the registry's time of the first page; zero: it does not say
}

// Errors of registries.
var (
	errPages = errors.New("the list has no end, or too many pages")
	errMany  = errors.New("the registry has more servers than one source may name")
)

// pageSize is the most that the contract lets be asked for.
const pageSize = "100"

// all reads every page of what has changed since a time, or of everything.
func (r *reading) all(ctx context.Context, since time.Time) ([]known, error) {
	query := r.endpoint.Query()
	query.Set("limit", pageSize)
	query.Set("version", "latest")
	if !since.IsZero() {
		query.Set("updated_since", since.UTC().Format(time.RFC3339))
	}
	var all []known
	seen := map[string]bool{}
	for n := 0; ; n++ {
		p, err := r.page(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, raw := range p.Servers {
			all = append(all, parse(raw))
		}
		cursor := cmp.Or(p.Metadata.Next, p.Metadata.OldNext)
		switch {
		case len(all) > r.at.Limits.Tools:
			return nil, errMany
		case cursor == "":
			return all, nil
		case n+1 == r.at.Limits.Pages || seen[cursor]:
			return nil, errPages
		}
		seen[cursor] = true
		query.Set("cursor", cursor)
	}
}

// page is one page as it is read.
type page struct {
	Servers  []json.RawMessage `json:"servers"`
	Metadata struct {
		Next    string `json:"nextCursor"`
		OldNext string `json:"next_cursor"` // before version 0.1
	} `json:"metadata"`
}

func (r *reading) page(ctx context.Context, query url.Values) (page, error) {
	address := *r.endpoint
	address.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return page{}, err
	}
	req.Header.Set("Accept", "application/json")
	text, header, err := source.Fetch(r.at.Client, req, r.left)
	if err != nil {
		return page{}, err
	}
	r.left -= int64(len(text))
	if r.now.IsZero() {
		r.now, _ = http.ParseTime(header.Get("Date")) // zero where it does not say
	}
	var p page
	if err := json.Unmarshal(text, &p); err != nil || p.Servers == nil {
		return page{}, fmt.Errorf("%s answers no list of servers: it may be a login, or no registry", r.endpoint)
	}
	return p, nil
}

// parse reads an entry. One that cannot be read has its name, if there is one, and a problem.
func parse(raw json.RawMessage) known {
	k := known{raw: raw}
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
		_ = json.Unmarshal(raw, &named) // what can be read of it
		k.Server.Name, k.problem = named.Server.Name, "its entry cannot be read"
	}
	return k
}

package sources

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/pkg/schema"
)

// named is a source that another one names, its parent.
type named struct {
	id  id
	rec *record
}

// children returns the sources that a source has named and that are not being removed, by
// what it calls them, and the providers of all, also of those.
func (s *Service) children(parent id) (map[string]named, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, providers := map[string]named{}, []string{}
	for i, h := range s.known {
		if h.spec == nil || h.spec.Parent != parent.name || i.tenant != parent.tenant {
			continue
		}
		providers = append(providers, h.spec.Root(i.name))
		if !h.spec.Removed {
			out[h.spec.Called] = named{i, h.spec}
		}
	}
	return out, providers
}

// names reports whether a worker's source names others, or did.
func (w *worker) names(rec *record) bool { return source.Finds(rec.Kind) || w.status().Found > 0 }

// owned returns the ids of the tools that a source has itself: not those of the sources
// that it names.
func (w *worker) owned(ctx context.Context, rec *record) ([]string, error) {
	var providers []string
	if w.names(rec) {
		_, providers = w.s.children(w.id)
	}
	return w.s.owned(ctx, w.id, rec.Root(w.id.name), providers)
}

// owned returns the ids of the tools of a provider, without those of providers below it.
func (s *Service) owned(ctx context.Context, i id, root string, providers []string) ([]string, error) {
	ids, err := s.index.Owned(ctx, i.tenant, root)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ids, func(i string) bool {
		return slices.ContainsFunc(providers, func(p string) bool { return strings.HasPrefix(i, p+"/") })
	}), nil
}

// naming is what becomes of the sources that a listing names.
type naming struct {
	wanted []source.Found  // with the whole spec but for the provider
	kept   map[string]bool // names of those that are there and cannot be looked at now
	denied map[string]bool // names of those that the declaration does not take
	unsure bool            // one could not be read: it may be any
}

// choose decides which of the sources that a listing names are taken. Of too many those
// stay that are there already.
func (s *Service) choose(parent id, spec source.Spec, found []source.Found, c *content) naming {
	n := naming{kept: map[string]bool{}, denied: map[string]bool{}}
	there, _ := s.children(parent)
	order := func(f source.Found) int {
		if _, is := there[f.Name]; is {
			return 0
		}
		return 1
	}
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b source.Found) int { return order(a) - order(b) })
	var wrong faults
	seen := map[string]bool{}
	room, left := room{limit: cmp.Or(spec.Limit, source.DefaultFound), all: len(there)}, s.room(parent.tenant)
	for _, f := range found {
		_, known := there[f.Name]
		fault := cmp.Or(f.Problem, unfit(f))
		switch {
		case f.Name == "":
			n.unsure = true
			wrong.add("a source without a name", fault)
		case seen[f.Name]:
			wrong.add(f.Name, "it is named twice")
		case !spec.Takes(f.Name):
			n.denied[f.Name] = true
		case fault != "":
			n.kept[f.Name] = true
			room.keep(known)
			wrong.add(f.Name, fault)
		case !known && left == 0:
			n.denied[f.Name] = true
			wrong.add(f.Name, errLimit.Error())
		case !room.take(known):
			n.denied[f.Name] = true
			wrong.add(f.Name, fmt.Sprintf("beyond the limit of %d sources", room.limit))
		default:
			if !known {
				left--
			}
			f.Spec = s.inherit(spec, f.Spec)
			n.wanted = append(n.wanted, f)
		}
		seen[f.Name] = true
	}
	wrong.each(c.problem)
	return n
}

// room is how many sources may still be taken. Those that are not named any more and not
// gone yet may be as many again as the limit: they must not grow with every list that names
// others.
type room struct {
	limit, taken, all int // all: with those that are there and not taken
}

// keep counts one that cannot be looked at now and stays if it is there.
func (r *room) keep(there bool) {
	if there {
		r.taken++
	}
}

// take takes one, unless there is no room.
func (r *room) take(there bool) bool {
	if r.taken >= r.limit || !there && r.all >= 2*r.limit {
		return false
	}
	r.taken++
	if !there {
		r.all++
	}
	return true
}

// faults groups what is wrong with sources: very many may have the same fault.
type faults struct {
	order []string
	names map[string][]string // by fault
}

func (t *faults) add(name, fault string) {
	if t.names == nil {
		t.names = map[string][]string{}
	}
	if len(t.names[fault]) == 0 {
		t.order = append(t.order, fault)
	}
	t.names[fault] = append(t.names[fault], name)
}

func (t *faults) each(fn func(string)) {
	for _, fault := range t.order {
		name, others := shorten(t.names[fault][0], maxName), ""
		if n := len(t.names[fault]) - 1; n > 0 {
			others = fmt.Sprintf(" and %d others", n)
		}
		fn(name + others + ": " + fault)
	}
}

// Bounds of what a source may say of another one, in bytes.
const (
	maxName  = 256
	maxURL   = 2048
	maxAbout = 16 << 10
)

// unfit says why a source that another one names cannot be looked at, "" if it can.
func unfit(f source.Found) string {
	switch {
	case len(f.Spec.Command) > 0:
		return source.NeedsCommand
	case !slices.Contains(source.Findable, f.Spec.Kind):
		return fmt.Sprintf("a source of kind %s has to be added by hand", schema.Quote(f.Spec.Kind))
	case len(f.Name) > maxName:
		return "its name is too long"
	case len(f.Spec.URL) > maxURL:
		return "its address is too long"
	}
	if err := f.Spec.Validate(); err != nil {
		return err.Error()
	}
	return ""
}

// inherit returns the spec of a source that a source names: what is not said is as there.
// Private addresses are reached and the credential is sent only as the parent's user has
// said, whatever names the source.
func (s *Service) inherit(parent, found source.Spec) source.Spec {
	found.AllowPrivate, found.Paused = parent.AllowPrivate, false
	found.Allow, found.Deny, found.Limit = nil, nil, 0
	found.Every, found.Deletes = cmp.Or(found.Every, parent.Every), cmp.Or(found.Deletes, parent.Deletes)
	if found.Auth == nil && parent.Auth != nil && s.lends(parent, found.URL) {
		found.Auth = parent.Auth
	}
	return found
}

// lends reports whether the credential of a source is for an address that it names, too.
// That of a gateway administers it, and is not for what it stands before, at the same host
// or not.
func (s *Service) lends(parent source.Spec, address string) bool {
	if slices.Contains([]string{source.Kong, source.Caddy, source.Traefik}, parent.Kind) {
		return false
	}
	u, err := url.Parse(address)
	plain := strings.HasPrefix(parent.URL, "http:")
	return err == nil && (u.Scheme == "https" || plain) && outbound.Bound(s.cfg.Permit.Credentials[parent.Auth.Credential].Hosts, u.Host)
}

// adopt makes sources of those that the source names, which was seen at a time: their lag
// begins there.
func (w *worker) adopt(ctx context.Context, rec *record, wanted []source.Found, seen time.Time, f *result) error {
	there, providers := w.s.children(w.id)
	for _, found := range wanted {
		old, known := there[found.Name]
		if !known {
			old = named{id: w.s.freeName(w.id, found.Name)}
			found.Spec.Provider = freeProvider(rec.Root(w.id.name), found.Name, old.id.name, providers)
			providers = append(providers, found.Spec.Provider)
		} else {
			found.Spec.Provider = old.rec.Provider
		}
		is := formOf(found)
		if known && !differ(old.rec.form(), is) {
			continue
		}
		_, err := w.s.modify(ctx, old.id, true, func(rec *record) error {
			if rec.Removed {
				return errRemoving
			}
			rec.Parent, rec.Called, rec.Spec, rec.About, rec.Told = w.id.name, found.Name, is.Spec, is.About, seen.UTC()
			return nil
		})
		switch {
		case errors.Is(err, errRemoving): // and is named anew
			f.again = true
		case err != nil:
			return err
		case known:
			f.changed.change(old.id.name)
		default:
			f.changed.add(old.id.name)
		}
	}
	return nil
}

// formOf is what a source that another one names is to be looked at as.
func formOf(f source.Found) form {
	if len(f.Owner) > maxAbout {
		f.Owner = nil
	}
	return form{f.Spec, f.Owner}
}

// abandon lets sources go that the source does not name any more.
func (w *worker) abandon(ctx context.Context, all []named, keep bool) error {
	for _, n := range all {
		_, err := w.s.modify(ctx, n.id, false, func(rec *record) error {
			rec.Removed, rec.KeepTools = true, keep
			return nil
		})
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
	}
	return nil
}

// rest pauses or resumes the sources that the source names, as it is itself.
func (w *worker) rest(ctx context.Context, paused bool) error {
	there, _ := w.s.children(w.id)
	for _, n := range there {
		if n.rec.Paused == paused {
			continue
		}
		if _, err := w.s.modify(ctx, n.id, false, func(rec *record) error { rec.Paused = paused; return nil }); err != nil && !errors.Is(err, errNotFound) {
			return err
		}
	}
	return nil
}

// missing returns the sources that are there and that a listing lacks, by name, and those
// that the declaration does not take any more.
func (n naming) missing(there map[string]named) (lost, denied []named) {
	for _, f := range n.wanted {
		delete(there, f.Name)
	}
	for _, called := range slices.Sorted(maps.Keys(there)) {
		switch {
		case n.kept[called]:
		case n.denied[called]:
			denied = append(denied, there[called])
		default:
			lost = append(lost, there[called])
		}
	}
	return lost, denied
}

// slugForm is what the name of a found source does not hold.
var slugForm = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// maxSlug is how long the part of a name is that stands for what the parent calls a source.
const maxSlug = 48

// freeName returns the name of a source that another one calls so: PARENT.NAME with - for
// dots and _ for slashes, and a hash where that says less than the name or is taken.
func (s *Service) freeName(parent id, called string) id {
	slug := strings.NewReplacer(".", "-", "/", "_").Replace(called)
	short := strings.Trim(slugForm.ReplaceAllString(slug, "-"), "-_")
	short = strings.TrimRight(short[:min(len(short), maxSlug)], "-_")
	plain := id{parent.tenant, parent.name + "." + short}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.known[plain]; short == slug && (h == nil || h.spec == nil || h.spec.Called == called) {
		return plain
	}
	return id{parent.tenant, parent.name + "." + strings.TrimLeft(short+"-", "-") + mark(called)}
}

// maxProvider leaves room for the names of tools in an id.
const maxProvider = 160

// freeProvider returns the provider of a found source: ROOT/NAME as its parent calls it, or
// the end of the source's name where that is no id or stands at, above or below another's,
// with a hash where that does, too.
func freeProvider(root, called, name string, taken []string) string {
	_, slug, _ := strings.Cut(name, ".")
	for _, part := range []string{called, slug} {
		p := root + "/" + part
		if len(p) <= maxProvider && schema.ValidateID(p) == nil && !slices.ContainsFunc(taken, func(t string) bool { return overlap(t, p) }) {
			return p
		}
	}
	return root + "/" + slug + "-" + mark(called)
}

// mark returns a few letters that stand for a name.
func mark(called string) string {
	sum := sha256.Sum256([]byte(called))
	return hex.EncodeToString(sum[:4])
}

// about returns the provider's document: what a server says of itself, beside what was
// said where it was found.
func about(found, own json.RawMessage) json.RawMessage {
	var all, more map[string]json.RawMessage
	if json.Unmarshal(found, &all) != nil || all == nil {
		return own
	}
	if json.Unmarshal(own, &more) != nil || len(more) == 0 {
		return found
	}
	maps.Copy(all, more)
	raw, _ := json.Marshal(all) // of JSON
	return raw
}

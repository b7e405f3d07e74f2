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
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/pkg/schema"
)

// child is a source that another one names, its parent.
type child struct {
	id  id
	rec *record
}

// choice is the decision on the sources that a listing names.
type choice struct {
	wanted []source.Found  // with the whole spec except the provider
	kept   map[string]bool // names of known sources that cannot be looked at now
	denied map[string]bool // names that the declaration does not take
	unsure bool            // one could not be read: it may be any
}

// choose decides which of the sources that a listing names are taken. Of too many those
// stay that are there already.
func (c *crawler) choose(parent id, spec source.Spec, found []source.Found, content *content) choice {
	n := choice{kept: map[string]bool{}, denied: map[string]bool{}}
	there, _ := c.dir.children(parent)
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
	slots, left := slots{limit: cmp.Or(spec.Limit, source.DefaultFound), all: len(there)}, c.dir.available(parent.tenant, c.cfg.Most.Of(parent.tenant))
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
			if known {
				slots.taken++
			}
			wrong.add(f.Name, fault)
		case !known && left == 0:
			n.denied[f.Name] = true
			wrong.add(f.Name, errLimit.Error())
		case !slots.use(known):
			n.denied[f.Name] = true
			wrong.add(f.Name, fmt.Sprintf("beyond the limit of %d sources", slots.limit))
		default:
			if !known {
				left--
			}
			f.Spec = c.inherit(spec, f.Spec)
			n.wanted = append(n.wanted, f)
		}
		seen[f.Name] = true
	}
	wrong.each(content.problem)
	return n
}

// slots counts the sources that may still be added. Sources that a list no longer names but
// that are not yet removed may reach the limit once more: they must not grow with every list
// that names others.
type slots struct {
	limit, taken, all int // all: with known sources that are not taken
}

// use takes a slot, if one is free.
func (s *slots) use(there bool) bool {
	if s.taken >= s.limit || !there && s.all >= 2*s.limit {
		return false
	}
	s.taken++
	if !there {
		s.all++
	}
	return true
}

// faults groups sources by their fault: very many may have the same one.
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

// Limits of the texts that describe a source found in another source, in bytes.
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

// inherit returns the spec of a source that a source names: missing members are as for the parent.
// Private addresses are reached and the credential is sent only as the parent's user has
// said, whatever names the source.
func (c *crawler) inherit(parent, found source.Spec) source.Spec {
	found.AllowPrivate, found.Paused = parent.AllowPrivate, false
	found.Allow, found.Deny, found.Limit = nil, nil, 0
	found.Every, found.Deletes = cmp.Or(found.Every, parent.Every), cmp.Or(found.Deletes, parent.Deletes)
	if found.Auth == nil && parent.Auth != nil && c.lends(parent, found.URL) {
		found.Auth = parent.Auth
	}
	return found
}

// lends reports whether the credential of a source is for an address that it names, too.
// The credential of a gateway administers it, and is not for the servers behind it, at the same
// host or not.
func (c *crawler) lends(parent source.Spec, address string) bool {
	if slices.Contains([]string{source.Kong, source.Caddy, source.Traefik}, parent.Kind) {
		return false
	}
	own, err := url.Parse(parent.URL)
	if err != nil {
		return false
	}
	u, err := url.Parse(address)
	hosts := outbound.BoundFrom(own, c.cfg.Permit.Credentials[parent.Auth.Credential].Hosts)
	return err == nil && (u.Scheme == "https" || own.Scheme == "http") && outbound.Bound(hosts, u)
}

// upsertChildren declares the sources that the source names. Their lag begins at seen.
func (a *applier) upsertChildren(ctx context.Context, rec *record, wanted []source.Found, seen time.Time, f *result) error {
	there, providers := a.dir.children(a.id)
	for _, found := range wanted {
		old, known := there[found.Name]
		if !known {
			old = child{id: a.dir.freeName(a.id, found.Name)}
			found.Spec.Provider = freeProvider(rec.Root(a.id.name), found.Name, old.id.name, providers)
			providers = append(providers, found.Spec.Provider)
		} else {
			found.Spec.Provider = old.rec.Provider
		}
		is := formOf(found)
		if known && !differ(old.rec.form(), is) {
			continue
		}
		_, err := a.dir.modify(ctx, old.id, true, func(rec *record) error {
			if rec.Removed {
				return errRemoving
			}
			rec.Parent, rec.Called, rec.Spec, rec.About, rec.Told = a.id.name, found.Name, is.Spec, is.About, seen.UTC()
			return nil
		})
		switch {
		case errors.Is(err, errRemoving): // and is named again
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

// formOf returns the form of a source that another one names.
func formOf(f source.Found) form {
	if len(f.Owner) > maxAbout {
		f.Owner = nil
	}
	return form{f.Spec, f.Owner}
}

// removeChildren removes sources that the source no longer names.
func (a *applier) removeChildren(ctx context.Context, all []child, keep bool) error {
	for _, n := range all {
		_, err := a.dir.modify(ctx, n.id, false, func(rec *record) error {
			rec.Removed, rec.KeepTools = true, keep
			return nil
		})
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
	}
	return nil
}

// pauseChildren pauses or resumes the sources that the source names.
func (a *applier) pauseChildren(ctx context.Context, paused bool) error {
	there, _ := a.dir.children(a.id)
	for _, n := range there {
		if n.rec.Paused == paused {
			continue
		}
		if _, err := a.dir.modify(ctx, n.id, false, func(rec *record) error { rec.Paused = paused; return nil }); err != nil && !errors.Is(err, errNotFound) {
			return err
		}
	}
	return nil
}

// missing returns the sources that are there and that a listing lacks, by name, and those
// that the declaration does not take any more.
func (n choice) missing(there map[string]child) (lost, denied []child) {
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

// maxProvider leaves room for the names of tools in an id.
const maxProvider = 160

// freeProvider returns the provider of a found source: ROOT/NAME as its parent calls it, or
// the end of the source's name if that is not a valid id or overlaps with another provider, with
// a hash if that overlaps, too.
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

// mark returns a short hash of a name.
func mark(called string) string {
	sum := sha256.Sum256([]byte(called))
	return hex.EncodeToString(sum[:4])
}

// about returns the provider's document: the server's own description over the description of
// the source that named it.
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

package sources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// applier brings the index in step with the listings of one source. It is used by the
// goroutine of the source's worker alone.
type applier struct {
	*crawler
	id      id
	finds   bool // the source names others, or did
	indexed indexed
}

// indexed is what the index has of a source.
type indexed struct {
	tools     map[string]string // hash of each tool's document, by id; empty: unknown
	owner     string            // hash of the provider's document
	listed    [sha256.Size]byte // digest of the listing that was published last
	last      result            // of publishing it
	wanted    []source.Found    // the sources that it names and that are taken
	loaded    time.Time         // when tools was read from the index
	suspected string            // digest of a loss that was seen once
}

// result is the result of a look that succeeded.
type result struct {
	changed  changes
	problems []string
	loss     *Loss // that is held
	beyond   int   // tools over the limit of the tenant
	again    bool  // look again soon: a loss is doubted, or a source that is being removed is named again
	hangUp   bool  // a loss is doubted, and a new connection may know better
}

var errTools = errors.New("the source has more tools than one source may have")

// pieces are accepted one by one: a commit of very many would exceed its time.
const piece = 256

// publish brings the index in step with a listing.
func (a *applier) publish(ctx context.Context, rec *record, l source.Listing, opts ingest.Options) (result, error) {
	k := &a.indexed
	l.Documents = taken(rec.Spec, l.Documents)
	sum := digest(l)
	if l.Same || k.current() && sum == k.listed && k.suspected == "" {
		f := k.last
		f.changed, f.again, f.hangUp = newChanges(), false, false
		return f, a.upsertChildren(ctx, rec, k.wanted, opts.Seen, &f)
	}
	c := read(l, rec.Root(a.id.name))
	switch {
	case len(c.tools) > a.cfg.Limits.Tools:
		return result{}, errTools
	case len(c.tools) == 0 && c.unsure:
		return result{}, fmt.Errorf("nothing that the source answers is a tool: %s", c.problems[0])
	}
	if !k.current() {
		if err := a.loadIndexed(ctx, rec); err != nil {
			return result{}, err
		}
	}
	before := len(k.tools)
	f := result{changed: newChanges()}
	if err := a.accept(ctx, &c, opts, &f); err != nil {
		return result{}, err
	}
	gone := loss{tools: k.lost(c), hadTools: before, unsure: c.unsure}
	if a.finds {
		if err := a.publishChildren(ctx, rec, l.Found, opts.Seen, &c, &gone, &f); err != nil {
			return result{}, err
		}
	}
	if err := a.deleteMissing(ctx, rec, gone, opts, &f); err != nil {
		return result{}, err
	}
	if err := a.clearConfirmation(ctx, rec.Confirmed); err != nil {
		return result{hangUp: f.hangUp}, err
	}
	f.problems = c.problems
	k.listed, k.last = sum, f
	if f.beyond > 0 {
		k.loaded = time.Time{} // the next look tries again: other tools of the tenant may have gone
		f.again = f.again || f.changed.Removed > 0
	}
	return f, nil
}

// taken returns the documents of a listing that a declaration takes.
func taken(spec source.Spec, documents []source.Document) []source.Document {
	if !source.Finds(spec.Kind) {
		return documents
	}
	return slices.DeleteFunc(documents, func(d source.Document) bool { return d.Group != "" && !spec.Takes(d.Group) })
}

// clearConfirmation ends a confirmation, which is for the one look that followed it.
func (a *applier) clearConfirmation(ctx context.Context, confirmed string) error {
	if confirmed == "" {
		return nil
	}
	_, err := a.dir.modify(ctx, a.id, false, func(rec *record) error {
		if rec.Confirmed == confirmed {
			rec.Confirmed = ""
		}
		return nil
	})
	return err
}

// current reports whether the tools were read from the index recently.
func (k *indexed) current() bool { return time.Since(k.loaded) < reconcileEvery }

// ownTools returns the ids of the tools that a source has itself, not through sources that it
// names.
func (a *applier) ownTools(ctx context.Context, rec *record) ([]string, error) {
	var providers []string
	if a.finds {
		_, providers = a.dir.children(a.id)
	}
	return a.owned(ctx, a.id, rec.Root(a.id.name), providers)
}

// loadIndexed reads the ids of the source's tools from the index, without their documents.
func (a *applier) loadIndexed(ctx context.Context, rec *record) error {
	ids, err := a.ownTools(ctx, rec)
	if err != nil {
		return err
	}
	a.indexed = indexed{tools: make(map[string]string, len(ids)), loaded: time.Now(), suspected: a.indexed.suspected}
	for _, i := range ids {
		a.indexed.tools[i] = ""
	}
	return nil
}

// accept publishes the tools that differ from the index, and the provider.
func (a *applier) accept(ctx context.Context, c *content, opts ingest.Options, f *result) error {
	k := &a.indexed
	opts.UpTo = 0
	for _, item := range c.owner {
		if item.Hash == k.owner {
			continue
		}
		if _, err := a.index.Accept(ctx, a.id.tenant, []formats.Item{item}, opts); err != nil {
			return err
		}
		k.owner = item.Hash
	}
	var fresh []formats.Item
	beyond := ""
	for _, item := range c.tools {
		if hash, there := k.tools[item.ID]; !there || hash != item.Hash {
			fresh = append(fresh, item)
		}
	}
	for some := range slices.Chunk(fresh, piece) {
		outcomes, err := a.index.Accept(ctx, a.id.tenant, some, opts)
		if err != nil {
			return err
		}
		for i, o := range outcomes {
			if o.Reason == ingest.ReasonLimit {
				f.beyond++
				beyond = o.Detail
				c.kept[o.ID] = true
				continue
			}
			_, there := k.tools[o.ID]
			if c.count(o, there, &f.changed); o.State != ingest.Rejected {
				k.tools[o.ID] = some[i].Hash
			}
		}
	}
	if f.beyond > 0 {
		c.problems = slices.Insert(c.problems, 0, fmt.Sprintf("%d tools are not taken: %s", f.beyond, beyond))
	}
	return nil
}

// count adds the outcome of a tool, which was there or not, to the changes or the problems.
func (c *content) count(o ingest.Outcome, there bool, changes *changes) {
	switch {
	case o.State == ingest.Rejected:
		c.problem(fmt.Sprintf("%s: %s: %s", o.ID, o.Reason, o.Detail))
		c.kept[o.ID] = true
	case o.State == ingest.Accepted && there:
		changes.change(o.ID)
	case o.State == ingest.Accepted:
		changes.add(o.ID)
	}
}

// lost returns the ids, in order, of the tools that a listing lacks.
func (k *indexed) lost(c content) []string {
	there := map[string]bool{}
	for _, item := range c.tools {
		there[item.ID] = true
	}
	var lost []string
	for i := range k.tools {
		unread := func(provider string) bool { return strings.HasPrefix(i, provider+"/") }
		if !there[i] && !c.kept[i] && !slices.ContainsFunc(c.unread, unread) {
			lost = append(lost, i)
		}
	}
	slices.Sort(lost)
	return lost
}

// publishChildren declares the sources that a listing names, and adds the missing ones to gone.
func (a *applier) publishChildren(ctx context.Context, rec *record, found []source.Found, seen time.Time, c *content, gone *loss, f *result) error {
	n := a.choose(a.id, rec.Spec, found, c)
	there, _ := a.dir.children(a.id)
	gone.hadSources, gone.unsure = len(there), gone.unsure || n.unsure
	if err := a.upsertChildren(ctx, rec, n.wanted, seen, f); err != nil {
		return err
	}
	a.indexed.wanted = n.wanted
	lost, denied := n.missing(there)
	gone.sources = lost
	for _, n := range denied {
		f.changed.remove(n.id.name)
	}
	return a.removeChildren(ctx, denied, false)
}

// loss lists the tools and sources that a listing lacks.
type loss struct {
	tools                []string // ids, in order
	sources              []child
	hadTools, hadSources int  // before
	unsure               bool // something could not be read: it may be any of these
}

// deleteMissing deletes the missing tools and sources, unless the loss is doubted or held.
func (a *applier) deleteMissing(ctx context.Context, rec *record, gone loss, opts ingest.Options, f *result) error {
	k := &a.indexed
	doubted := k.suspected
	k.suspected = ""
	if len(gone.tools)+len(gone.sources) == 0 || gone.unsure || rec.Deletes == source.Never {
		return nil
	}
	names := slices.Clone(gone.tools)
	for _, n := range gone.sources {
		names = append(names, n.id.name)
	}
	held := lossOf(names)
	// More than half is a large loss. It stays large if new tools have come meanwhile.
	large := 2*len(gone.tools) > gone.hadTools || 2*len(gone.sources) > gone.hadSources || doubted == held.Digest
	if rec.Deletes != source.Always && large && rec.Confirmed != held.Digest {
		k.suspected = held.Digest
		if doubted != "" {
			f.loss = held
			return nil
		}
		f.again, f.hangUp = true, true
		return nil
	}
	if err := a.removeChildren(ctx, gone.sources, false); err != nil {
		return err
	}
	removed, err := a.index.Remove(ctx, a.id.tenant, gone.tools, opts)
	if err != nil {
		return err
	}
	for _, o := range removed {
		f.changed.remove(o.ID)
	}
	for _, n := range gone.sources {
		f.changed.remove(n.id.name)
	}
	for _, i := range gone.tools {
		delete(k.tools, i)
	}
	return nil
}

// deleteAll deletes the tools of a source, and removes the sources that it names.
func (a *applier) deleteAll(ctx context.Context, rec *record) error {
	there, _ := a.dir.children(a.id)
	if err := a.removeChildren(ctx, slices.Collect(maps.Values(there)), rec.KeepTools); err != nil || rec.KeepTools {
		return err
	}
	ids, err := a.ownTools(ctx, rec)
	if err != nil {
		return err
	}
	if _, err := a.index.Remove(ctx, a.id.tenant, ids, ingest.Options{}); err != nil {
		return err
	}
	_, err = a.index.Accept(ctx, a.id.tenant, []formats.Item{{ID: rec.Root(a.id.name), Kind: schema.KindProvider, Delete: true}}, ingest.Options{})
	return err
}

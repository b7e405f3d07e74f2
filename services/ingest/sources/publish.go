package sources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// shelf is what is known of a source's tools.
type shelf struct {
	tools     map[string]string // hash of each tool's document, by id; empty: it is not known
	owner     string            // hash of the provider's document
	listed    [sha256.Size]byte // digest of the listing that was published last
	last      result            // what came of that
	wanted    []source.Found    // the sources that it names and that are taken
	filled    time.Time         // when tools was read from the index
	suspected string            // digest of a loss that was seen once
}

var errTools = errors.New("the source has more tools than one source may have")

// pieces are accepted one by one: a commit of very many would exceed its time.
const piece = 256

// publish brings the index in step with a listing.
func (w *worker) publish(ctx context.Context, rec *record, l source.Listing, opts ingest.Options) (result, error) {
	k := &w.shelf
	l.Documents = taken(rec.Spec, l.Documents)
	sum := digest(l)
	if l.Same || k.current() && sum == k.listed && k.suspected == "" {
		f := k.repeated()
		return f, w.adopt(ctx, rec, k.wanted, opts.Seen, &f)
	}
	c := read(l, rec.Root(w.id.name))
	switch {
	case len(c.tools) > w.s.cfg.Limits.Tools:
		return result{}, errTools
	case len(c.tools) == 0 && c.unsure:
		return result{}, fmt.Errorf("nothing that the source answers is a tool: %s", c.problems[0])
	}
	if !k.current() {
		if err := w.fill(ctx, rec); err != nil {
			return result{}, err
		}
	}
	before := len(k.tools)
	f := result{changed: newChanges()}
	if err := w.accept(ctx, &c, opts, &f); err != nil {
		return result{}, err
	}
	gone := loss{tools: k.lost(c), hadTools: before, unsure: c.unsure}
	if w.names(rec) {
		if err := w.follow(ctx, rec, l.Found, opts.Seen, &c, &gone, &f); err != nil {
			return result{}, err
		}
	}
	if err := w.drop(ctx, rec, gone, opts, &f); err != nil {
		return result{}, err
	}
	if err := w.forget(ctx, rec.Confirmed); err != nil {
		return result{}, err
	}
	f.problems = c.problems
	k.listed, k.last = sum, f
	if f.beyond > 0 {
		k.filled = time.Time{} // the next look tries again: other tools of the tenant may have gone
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

// forget ends a confirmation, which is for the one look that followed it.
func (w *worker) forget(ctx context.Context, confirmed string) error {
	if confirmed == "" {
		return nil
	}
	_, err := w.s.modify(ctx, w.id, false, func(rec *record) error {
		if rec.Confirmed == confirmed {
			rec.Confirmed = ""
		}
		return nil
	})
	return err
}

// current reports whether what is known was read from the index not too long ago.
func (k *shelf) current() bool { return time.Since(k.filled) < reconcileEvery }

// repeated is what comes of a listing that is as the one before.
func (k *shelf) repeated() result {
	f := k.last
	f.changed, f.again = newChanges(), false
	return f
}

// fill reads from the index what the source has, without what it says.
func (w *worker) fill(ctx context.Context, rec *record) error {
	ids, err := w.owned(ctx, rec)
	if err != nil {
		return err
	}
	w.shelf = shelf{tools: make(map[string]string, len(ids)), filled: time.Now(), suspected: w.shelf.suspected}
	for _, i := range ids {
		w.shelf.tools[i] = ""
	}
	return nil
}

// accept publishes the tools that differ from what is known, and the provider.
func (w *worker) accept(ctx context.Context, c *content, opts ingest.Options, f *result) error {
	k := &w.shelf
	opts.UpTo = 0
	for _, item := range c.owner {
		if item.Hash == k.owner {
			continue
		}
		if _, err := w.s.index.Accept(ctx, w.id.tenant, []formats.Item{item}, opts); err != nil {
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
		outcomes, err := w.s.index.Accept(ctx, w.id.tenant, some, opts)
		if err != nil {
			return err
		}
		for i, o := range outcomes {
			_, there := k.tools[o.ID]
			switch {
			case o.Reason == ingest.ReasonLimit:
				f.beyond++
				beyond = o.Detail
				c.kept[o.ID] = true
				continue
			case o.State == ingest.Rejected:
				c.problem(fmt.Sprintf("%s: %s: %s", o.ID, o.Reason, o.Detail))
				c.kept[o.ID] = true
				continue
			case o.State == ingest.Accepted && there:
				f.changed.change(o.ID)
			case o.State == ingest.Accepted:
				f.changed.add(o.ID)
			}
			k.tools[o.ID] = some[i].Hash
		}
	}
	if f.beyond > 0 {
		c.problems = slices.Insert(c.problems, 0, fmt.Sprintf("%d tools are not taken: %s", f.beyond, beyond))
	}
	return nil
}

// lost returns the ids, in order, of the tools that a listing lacks.
func (k *shelf) lost(c content) []string {
	there := map[string]bool{}
	for _, item := range c.tools {
		there[item.ID] = true
	}
	var lost []string
	for i := range k.tools {
		if !there[i] && !c.keeps(i) {
			lost = append(lost, i)
		}
	}
	slices.Sort(lost)
	return lost
}

// follow makes sources of what a listing names, and notes those that it lacks.
func (w *worker) follow(ctx context.Context, rec *record, found []source.Found, seen time.Time, c *content, gone *loss, f *result) error {
	n := w.s.choose(w.id, rec.Spec, found, c)
	there, _ := w.s.children(w.id)
	gone.hadSources, gone.unsure = len(there), gone.unsure || n.unsure
	if err := w.adopt(ctx, rec, n.wanted, seen, f); err != nil {
		return err
	}
	w.shelf.wanted = n.wanted
	lost, denied := n.missing(there)
	gone.sources = lost
	for _, n := range denied {
		f.changed.remove(n.id.name)
	}
	return w.abandon(ctx, denied, false)
}

// loss is what a source had and a listing lacks.
type loss struct {
	tools                []string // ids, in order
	sources              []named
	hadTools, hadSources int  // before
	unsure               bool // something could not be read: it may be any of these
}

func (l loss) empty() bool { return len(l.tools)+len(l.sources) == 0 }

// large reports whether it is more than half of what there was.
func (l loss) large() bool { return 2*len(l.tools) > l.hadTools || 2*len(l.sources) > l.hadSources }

// shown describes it for an operator.
func (l loss) shown() *Loss {
	all := slices.Clone(l.tools)
	for _, n := range l.sources {
		all = append(all, n.id.name)
	}
	return lossOf(all)
}

// drop deletes what is gone, as far as that may be believed.
func (w *worker) drop(ctx context.Context, rec *record, gone loss, opts ingest.Options, f *result) error {
	k := &w.shelf
	doubted := k.suspected
	k.suspected = ""
	if gone.empty() || gone.unsure || rec.Deletes == source.Never {
		return nil
	}
	// What is new meanwhile makes a loss that was large no smaller.
	held := gone.shown()
	large := gone.large() || doubted == held.Digest
	if rec.Deletes != source.Always && large && rec.Confirmed != held.Digest {
		k.suspected = held.Digest
		if doubted != "" {
			f.loss = held
			return nil
		}
		f.again = true
		w.hangUp() // a new connection may know better
		return nil
	}
	if err := w.abandon(ctx, gone.sources, false); err != nil {
		return err
	}
	removed, err := w.s.index.Remove(ctx, w.id.tenant, gone.tools, opts)
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

// discard deletes what the index has of a source, and lets the sources go that it names.
func (w *worker) discard(ctx context.Context, rec *record) error {
	there, _ := w.s.children(w.id)
	if err := w.abandon(ctx, slices.Collect(maps.Values(there)), rec.KeepTools); err != nil || rec.KeepTools {
		return err
	}
	ids, err := w.owned(ctx, rec)
	if err != nil {
		return err
	}
	if _, err := w.s.index.Remove(ctx, w.id.tenant, ids, ingest.Options{}); err != nil {
		return err
	}
	_, err = w.s.index.Accept(ctx, w.id.tenant, []formats.Item{{ID: rec.Root(w.id.name), Kind: schema.KindProvider, Delete: true}}, ingest.Options{})
	return err
}

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
	last      found             // what came of that
	filled    time.Time         // when tools was read from the index
	suspected string            // digest of a loss that was seen once
}

var errTools = errors.New("the source has more tools than one source may have")

// pieces are accepted one by one: a commit of very many would exceed its time.
const piece = 256

// publish brings the index in step with a listing.
func (w *worker) publish(ctx context.Context, rec *record, l source.Listing, opts ingest.Options) (found, error) {
	k := &w.shelf
	sum := digest(l)
	if l.Same || k.current() && sum == k.listed && k.suspected == "" {
		return k.repeated(), nil
	}
	c := read(l, rec.Root(w.id.name))
	switch {
	case len(c.tools) > w.s.cfg.Limits.Tools:
		return found{}, errTools
	case len(c.tools) == 0 && c.unsure:
		return found{}, fmt.Errorf("nothing that the source answers is a tool: %s", c.problems[0])
	}
	if !k.current() {
		if err := w.fill(ctx, rec); err != nil {
			return found{}, err
		}
	}
	before := len(k.tools)
	f := found{}
	if err := w.accept(ctx, &c, opts, &f); err != nil {
		return found{}, err
	}
	lost := k.lost(c)
	if err := w.drop(ctx, rec, lost, before, c.unsure, opts, &f); err != nil {
		return found{}, err
	}
	f.problems = c.problems
	k.listed, k.last = sum, f
	return f, nil
}

// current reports whether what is known was read from the index not too long ago.
func (k *shelf) current() bool { return time.Since(k.filled) < reconcileEvery }

// repeated is what comes of a listing that is as the one before.
func (k *shelf) repeated() found {
	f := k.last
	f.changed = Changed{}
	return f
}

// fill reads from the index what the source has, without what it says.
func (w *worker) fill(ctx context.Context, rec *record) error {
	ids, err := w.s.index.Owned(ctx, w.id.tenant, rec.Root(w.id.name))
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
func (w *worker) accept(ctx context.Context, c *content, opts ingest.Options, f *found) error {
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
			case o.State == ingest.Rejected:
				c.problem(fmt.Sprintf("%s: %s: %s", o.ID, o.Reason, o.Detail))
				c.kept[o.ID] = true
				continue
			case o.State == ingest.Accepted && there:
				f.changed.Changed++
			case o.State == ingest.Accepted:
				f.changed.Added++
			}
			k.tools[o.ID] = some[i].Hash
		}
	}
	return nil
}

// lost returns the ids, in order, of the tools that a listing lacks.
func (k *shelf) lost(c content) []string {
	there := maps.Clone(c.kept)
	for _, item := range c.tools {
		there[item.ID] = true
	}
	var lost []string
	for i := range k.tools {
		if !there[i] {
			lost = append(lost, i)
		}
	}
	slices.Sort(lost)
	return lost
}

// drop deletes tools that are gone, as far as that may be believed. Before is how many
// tools the source had.
func (w *worker) drop(ctx context.Context, rec *record, lost []string, before int, unsure bool, opts ingest.Options, f *found) error {
	k := &w.shelf
	doubted := k.suspected
	k.suspected = ""
	if len(lost) == 0 || unsure || rec.Deletes == source.Never {
		return nil
	}
	if loss := lossOf(lost); rec.Deletes != source.Always && 2*len(lost) > before && rec.Confirmed != loss.Digest {
		k.suspected = loss.Digest
		if doubted != "" {
			f.loss = loss
			return nil
		}
		f.doubt = true
		w.hangUp() // a new connection may know better
		return nil
	}
	removed, err := w.s.index.Remove(ctx, w.id.tenant, lost, opts)
	if err != nil {
		return err
	}
	f.changed.Removed = len(removed)
	for _, i := range lost {
		delete(k.tools, i)
	}
	return nil
}

// discard deletes what the index has of a source.
func (w *worker) discard(ctx context.Context, rec *record) error {
	if rec.KeepTools {
		return nil
	}
	root := rec.Root(w.id.name)
	ids, err := w.s.index.Owned(ctx, w.id.tenant, root)
	if err != nil {
		return err
	}
	if _, err := w.s.index.Remove(ctx, w.id.tenant, ids, ingest.Options{}); err != nil {
		return err
	}
	_, err = w.s.index.Accept(ctx, w.id.tenant, []formats.Item{{ID: root, Kind: schema.KindProvider, Delete: true}}, ingest.Options{})
	return err
}

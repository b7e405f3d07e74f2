package sources

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/services/ingest"
)

// Trial is the result of a look at a source that changed nothing.
type Trial struct {
	Tools    int      `json:"tools"`
	Found    int      `json:"found,omitempty" doc:"Sources that the source names and that would be taken."`
	Names    []string `json:"names" nullable:"false" doc:"The ids of the first tools, and the names of the first sources as the source gives them."`
	Live     bool     `json:"live" doc:"The source says itself when its list changes."`
	Problems []string `json:"problems,omitempty" doc:"The first of the documents and tools that could not be taken, with the reason."`
	Took     float64  `json:"took_ms" doc:"How long the look took, in milliseconds."`

	Changed *Changed `json:"changed,omitempty" doc:"Changes of the index that a real look would make now; absent if the source has no name."`
	Changes *Names   `json:"changes,omitempty" doc:"The first of these tools and sources. If more than half would go, the deletion is held for a confirmation."`
}

// test tries a declared source and changes nothing. It returns the error that a real
// listing would meet.
func (s *Service) test(ctx context.Context, i id) (Trial, error) {
	src, err := s.dir.get(ctx, i)
	if err != nil {
		return Trial{}, err
	}
	return s.crawler.try(ctx, i, &record{Spec: src.Spec, Parent: src.Parent})
}

// testSpec looks at a source as it may be declared, and declares nothing. Without a name it is
// compared with nothing. An error says what declaring it, or a look, would run into.
func (s *Service) testSpec(ctx context.Context, i id, spec source.Spec) (Trial, error) {
	if err := s.dir.awaitLoaded(ctx); err != nil {
		return Trial{}, err
	}
	if i.name == "" {
		if err := s.reachable(i.tenant, spec); err != nil {
			return Trial{}, err
		}
		return s.crawler.try(ctx, i, &record{Spec: spec})
	}
	spec, err := s.declarable(ctx, i, spec)
	if err == nil {
		if rec, _ := s.dir.stored(i); rec != nil {
			err = rec.takes(i, spec)
		}
	}
	if err != nil {
		return Trial{}, err
	}
	return s.crawler.try(ctx, i, &record{Spec: spec})
}

// try looks at a source once, over a session of its own.
func (c *crawler) try(ctx context.Context, i id, rec *record) (Trial, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	start := time.Now()
	session, err := c.connect(ctx, i, rec, func() {})
	if err != nil {
		return Trial{}, c.hide(rec.Spec, err)
	}
	defer c.hangUp(session)
	listing, err := session.List(ctx, true)
	if full := inflight.From(ctx).Refused(); full != nil && err != nil {
		err = full
	}
	if err == nil && private(rec.Spec, listing) {
		err = errPrivate
	}
	if err != nil {
		return Trial{}, c.hide(rec.Spec, err)
	}
	listing.Documents = taken(rec.Spec, listing.Documents)
	found := read(listing, rec.Root(cmp.Or(i.name, rec.Kind)))
	n := c.choose(i, rec.Spec, listing.Found, &found)
	t := Trial{Tools: len(found.tools), Found: len(n.wanted), Names: []string{}, Live: session.Live()}
	for _, item := range found.tools[:min(len(found.tools), maxProblems)] {
		t.Names = append(t.Names, item.ID)
	}
	for _, f := range n.wanted[:min(len(n.wanted), maxProblems)] {
		t.Names = append(t.Names, f.Name)
	}
	if i.name != "" {
		changes := newChanges()
		if err := c.compare(ctx, i, rec, &found, n, &changes); err != nil {
			return Trial{}, err
		}
		t.Changed, t.Changes = &changes.Changed, &changes.names
	}
	t.Problems, t.Took = found.problems, float64(time.Since(start).Microseconds())/1000
	return t, nil
}

// compare adds the changes that a look with these findings would make.
func (c *crawler) compare(ctx context.Context, i id, rec *record, found *content, n choice, changes *changes) error {
	there, providers := c.dir.children(i)
	ids, err := c.owned(ctx, i, rec.Root(i.name), providers)
	if err != nil {
		return err
	}
	k := indexed{tools: map[string]string{}}
	for _, id := range ids {
		k.tools[id] = ""
	}
	outcomes, err := c.index.Preview(ctx, i.tenant, found.tools, ingest.Options{Source: i.name, Endpoint: rec.Endpoint()})
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		_, known := k.tools[o.ID]
		found.count(o, known, changes)
	}
	for _, f := range n.wanted {
		old, known := there[f.Name]
		if !known {
			changes.add(c.dir.freeName(i, f.Name).name)
			continue
		}
		if f.Spec.Provider = old.rec.Provider; differ(old.rec.form(), formOf(f)) {
			changes.change(old.id.name)
		}
	}
	lost, denied := n.missing(there)
	if rec.Deletes != source.Never && !found.unsure && !n.unsure {
		for _, id := range k.lost(*found) {
			changes.remove(id)
		}
		denied = slices.Concat(denied, lost)
	}
	for _, d := range denied {
		changes.remove(d.id.name)
	}
	return nil
}

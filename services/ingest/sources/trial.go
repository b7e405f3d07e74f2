package sources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/services/ingest"
)

// Trial is what a look at a source found that changed nothing.
type Trial struct {
	Tools    int      `json:"tools"`
	Found    int      `json:"found,omitempty" doc:"Sources that the source names and that would be taken."`
	Names    []string `json:"names" nullable:"false" doc:"The ids of the first tools, and what the source calls the first sources."`
	Live     bool     `json:"live" doc:"The source says itself when its list changes."`
	Problems []string `json:"problems,omitempty" doc:"The first of the documents and tools that could not be taken, with the reason."`
	Took     float64  `json:"took_ms" doc:"How long the look took, in milliseconds."`

	Changed *Changed `json:"changed,omitempty" doc:"What a look would come to that is not a test, against what the index has now; absent where the source has no name."`
	Changes *Names   `json:"changes,omitempty" doc:"The first of those tools and sources. What would go is held for a confirmation where it is more than half."`
}

// test looks at a source that is declared, and changes nothing. An error says what a look
// would run into.
func (s *Service) test(ctx context.Context, i id) (Trial, error) {
	src, err := s.get(ctx, i)
	if err != nil {
		return Trial{}, err
	}
	return s.try(ctx, i, &record{Spec: src.Spec, Parent: src.Parent})
}

// testSpec looks at a source as it may be declared, and declares nothing. Without a name it is
// compared with nothing. An error says what declaring it, or a look, would run into.
func (s *Service) testSpec(ctx context.Context, i id, spec source.Spec) (Trial, error) {
	if err := s.awaitLoaded(ctx); err != nil {
		return Trial{}, err
	}
	if i.name == "" {
		if err := s.reachable(i.tenant, spec); err != nil {
			return Trial{}, err
		}
		return s.try(ctx, i, &record{Spec: spec})
	}
	spec, err := s.declarable(ctx, i, spec)
	if err == nil {
		err = s.record(i).takes(i, spec)
	}
	if err != nil {
		return Trial{}, err
	}
	return s.try(ctx, i, &record{Spec: spec})
}

// record returns the record of a source, an empty one where there is none.
func (s *Service) record(i id) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.known[i]; h != nil && h.spec != nil {
		return h.spec
	}
	return &record{}
}

func (s *Service) try(ctx context.Context, i id, rec *record) (Trial, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	start := time.Now()
	place, err := s.places.Of(i.tenant, rec.Spec, rec.Parent != "")
	if err != nil {
		return Trial{}, err
	}
	session, err := s.connectors[rec.Kind].Connect(ctx, place, func() {})
	if err != nil {
		return Trial{}, s.hide(rec.Spec, err)
	}
	defer s.hangUp(session)
	listing, err := session.List(ctx, true)
	if err == nil && private(rec.Spec, listing) {
		err = errPrivate
	}
	if err != nil {
		return Trial{}, s.hide(rec.Spec, err)
	}
	listing.Documents = taken(rec.Spec, listing.Documents)
	c := read(listing, rec.Root(cmp.Or(i.name, rec.Kind)))
	n := s.choose(i, rec.Spec, listing.Found, &c)
	t := Trial{Tools: len(c.tools), Found: len(n.wanted), Names: []string{}, Live: session.Live()}
	for _, item := range c.tools[:min(len(c.tools), maxProblems)] {
		t.Names = append(t.Names, item.ID)
	}
	for _, f := range n.wanted[:min(len(n.wanted), maxProblems)] {
		t.Names = append(t.Names, f.Name)
	}
	if i.name != "" {
		changes := newChanges()
		if err := s.compare(ctx, i, rec, &c, n, &changes); err != nil {
			return Trial{}, err
		}
		t.Changed, t.Changes = &changes.Changed, &changes.names
	}
	t.Problems, t.Took = c.problems, float64(time.Since(start).Microseconds())/1000
	return t, nil
}

// compare notes what a look that finds this would change.
func (s *Service) compare(ctx context.Context, i id, rec *record, c *content, n naming, changes *changes) error {
	there, providers := s.children(i)
	ids, err := s.owned(ctx, i, rec.Root(i.name), providers)
	if err != nil {
		return err
	}
	k := shelf{tools: map[string]string{}}
	for _, id := range ids {
		k.tools[id] = ""
	}
	outcomes, err := s.index.Preview(ctx, i.tenant, c.tools, ingest.Options{Source: i.name})
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		_, is := k.tools[o.ID]
		switch {
		case o.State == ingest.Rejected:
			c.problem(fmt.Sprintf("%s: %s: %s", o.ID, o.Reason, o.Detail))
			c.kept[o.ID] = true
		case o.State == ingest.Accepted && is:
			changes.change(o.ID)
		case o.State == ingest.Accepted:
			changes.add(o.ID)
		}
	}
	for _, f := range n.wanted {
		old, known := there[f.Name]
		if !known {
			changes.add(s.freeName(i, f.Name).name)
			continue
		}
		if f.Spec.Provider = old.rec.Provider; differ(old.rec.form(), formOf(f)) {
			changes.change(old.id.name)
		}
	}
	lost, denied := n.missing(there)
	if rec.Deletes != source.Never && !c.unsure && !n.unsure {
		for _, id := range k.lost(*c) {
			changes.remove(id)
		}
		denied = slices.Concat(denied, lost)
	}
	for _, d := range denied {
		changes.remove(d.id.name)
	}
	return nil
}

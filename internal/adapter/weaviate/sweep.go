package weaviate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// sweepSize is how many objects one sweep looks at.
const sweepSize = 50

// ties is how many others may be as near to a vector as its own object is,
// before it is taken for one of them.
const ties = 20

// sweep is where the sweeper is.
type sweep struct {
	tenants []string // still to come in this round
	after   string   // the last object of the first of them
}

// haste is how many times sooner the next sweep comes after one that found many
// lost, for then a part of the graph may be cut off: at the defaults, 3,000
// objects a minute are looked at.
const haste = 60

// pace returns the pause after a sweep that found so many lost.
func (i *Index) pace(lost int) time.Duration {
	if lost >= sweepSize/10 {
		return i.client.config.Sweep / haste
	}
	return i.client.config.Sweep
}

// Run sweeps until ctx ends: writes are fenced against a crash of Weaviate, and
// against nothing else, such as a machine that loses its power, or a walk that
// what a crash left in the graph leads astray.
func (i *Index) Run(ctx context.Context) error {
	next := time.NewTimer(i.client.config.Sweep)
	defer next.Stop()
	var at sweep
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		lost, err := i.sweep(ctx, &at)
		next.Reset(i.pace(lost))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			i.log.Warn("weaviate: looking for vectors that no search finds", "error", err)
		case lost > 0:
			i.log.Warn("weaviate: no search found the vectors of some entities, they are written again", "entities", lost)
		}
	}
}

// sweep looks at the next objects and writes those again that a search for
// their own vectors does not find. It returns how many.
func (i *Index) sweep(ctx context.Context, at *sweep) (lost int, err error) {
	if len(at.tenants) == 0 {
		if at.tenants, err = i.tenants.list(ctx); err != nil || len(at.tenants) == 0 {
			return 0, err
		}
		at.after = ""
	}
	tenant, breaks := at.tenants[0], i.client.breaks.n.Load()
	found, err := i.client.find(ctx, whole(&pb.SearchRequest{Collection: i.class, Tenant: tenant, Limit: sweepSize, After: at.after}))
	if err != nil {
		return 0, err
	}
	var again []*events.Change
	for _, r := range found {
		s, err := i.invisible(ctx, tenant, r)
		if err != nil {
			return 0, err
		}
		if s != nil {
			again = append(again, &s.change)
		}
	}
	if err := i.repair(ctx, tenant, again, breaks); err != nil {
		return 0, err
	}
	if len(found) < sweepSize {
		at.tenants, at.after = at.tenants[1:], ""
	} else {
		at.after = found[len(found)-1].GetMetadata().GetId()
	}
	return len(again), nil
}

// Lost is a vector of an entity, of lists the first, that a search for it does
// not find.
type Lost struct {
	Ref    schema.Ref
	Vector string
	// Indexed is that the vector is in the index, and the walk through the graph
	// does not come to it, which happens where hundreds are alike. Of lists it
	// can not be known.
	Indexed bool
}

// Lost returns what of a tenant no search finds: what sweeps come to in time and
// write again. It writes nothing.
func (i *Index) Lost(ctx context.Context, tenant string) ([]Lost, error) {
	var lost []Lost
	for after := ""; ; {
		found, err := i.client.find(ctx, whole(&pb.SearchRequest{Collection: i.class, Tenant: tenant, Limit: page, After: after}))
		if err != nil {
			return nil, err
		}
		gone := make([][]Lost, len(found))
		err = parallel(len(found), i.client.config.Parallel, func(n int) (err error) {
			gone[n], err = i.lost(ctx, tenant, found[n])
			return err
		})
		if err != nil {
			return nil, err
		}
		lost = append(lost, slices.Concat(gone...)...)
		if len(found) < page {
			return lost, nil
		}
		after = found[len(found)-1].GetMetadata().GetId()
	}
}

func (i *Index) lost(ctx context.Context, tenant string, r *pb.SearchResult) ([]Lost, error) {
	s, err := i.entity(tenant, r)
	if s == nil || err != nil {
		return nil, err
	}
	var lost []Lost
	for _, q := range ownQuestions(s.change.Vectors) {
		found, err := i.finds(ctx, tenant, r.GetMetadata().GetId(), q)
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", s.change.ID, err)
		}
		if found {
			continue
		}
		l := Lost{Ref: s.change.Ref, Vector: q.GetTargets().GetTargetVectors()[0]}
		if l.Indexed, err = i.indexed(ctx, s.change.Ref, q); err != nil {
			return nil, fmt.Errorf("look for %s: %w", s.change.ID, err)
		}
		lost = append(lost, l)
	}
	return lost, nil
}

// indexed reports whether a vector is in the index, wherever it stands in the
// graph: among the few objects that a filter allows, the index compares those
// that it holds one by one. Of lists it compares what is stored.
func (i *Index) indexed(ctx context.Context, ref schema.Ref, q *pb.NearVector) (bool, error) {
	if isList(q.GetTargets().GetTargetVectors()[0]) {
		return false, nil
	}
	found, err := i.client.find(ctx, &pb.SearchRequest{
		Collection: i.class, Tenant: ref.Tenant, Limit: 1, NearVector: q, Filters: anyOf("_id", []string{idOf(ref)}),
	})
	return len(found) > 0, err
}

// repair writes changes again that were lost. What was written since stays: it
// is seen, unless a crash hides it, and then the connection broke since.
func (i *Index) repair(ctx context.Context, tenant string, lost []*events.Change, breaks int64) error {
	if len(lost) == 0 {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.client.breaks.n.Load() != breaks {
		return errors.New("weaviate: the connection broke while a sweep was under way: it is repeated")
	}
	i.metrics.invisible.Add(float64(len(lost)))
	i.begin()
	return i.store(ctx, map[string][]*events.Change{tenant: lost})
}

// entity decodes an object, nil for one that has no vectors.
func (i *Index) entity(tenant string, r *pb.SearchResult) (*stored, error) {
	if isNote(r) || r.GetProperties().GetNonRefProps().GetFields()[propDeleted].GetBoolValue() {
		return nil, nil
	}
	return decode(tenant, i.model, r)
}

// invisible returns what is stored of an entity if a search for one of its
// vectors does not find it.
func (i *Index) invisible(ctx context.Context, tenant string, r *pb.SearchResult) (*stored, error) {
	s, err := i.entity(tenant, r)
	if err != nil {
		i.log.Warn("weaviate: an object can not be read, and is left as it is", "error", err)
	}
	if s == nil || err != nil {
		return nil, nil // those behind it are looked at all the same
	}
	for _, q := range ownQuestions(s.change.Vectors) {
		visible, err := i.finds(ctx, tenant, r.GetMetadata().GetId(), q)
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", s.change.ID, err)
		}
		if !visible {
			return s, nil
		}
	}
	return nil, nil
}

// ownQuestions asks for every vector, of lists for the first.
func ownQuestions(v *events.Vectors) []*pb.NearVector {
	a := asker{dimensions: v.Dimensions}
	a.addList(1, vectorName, [][]float32{v.Name})
	a.addList(1, vectorFlat, [][]float32{v.Flat})
	a.addList(1, vectorDescription, [][]float32{v.Description})
	a.addList(1, vectorResponse, [][]float32{v.Response})
	a.addList(1, vectorExamples, plain(v.Examples[:min(1, len(v.Examples))]))
	a.addList(1, vectorParameters, plain(v.Parameters[:min(1, len(v.Parameters))]))
	return a.questions
}

// finds reports whether a search finds the object, or so many that are as near
// that it may be one of them. A short search ends early where many others are
// alike, so what it does not find is looked for by a long one.
func (i *Index) finds(ctx context.Context, tenant, id string, q *pb.NearVector) (bool, error) {
	for _, limit := range []uint32{ties, page} {
		found, err := i.client.find(ctx, &pb.SearchRequest{
			Collection: i.class, Tenant: tenant, Limit: limit, NearVector: q, Metadata: &pb.MetadataRequest{Distance: true},
		})
		if err != nil {
			return false, err
		}
		const own = -0.999 // the negative product of a unit vector with itself, about
		if len(found) >= ties && found[ties-1].GetMetadata().GetDistance() < own ||
			slices.ContainsFunc(found, func(r *pb.SearchResult) bool { return r.GetMetadata().GetId() == id }) {
			return true, nil
		}
	}
	return false, nil
}

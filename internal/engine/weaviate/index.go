package weaviate

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sourcegraph/conc/pool"
	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The reasons for refusing a change permanently.
const (
	ReasonBadVector     = "bad_vector"     // its vectors are missing or cannot be searched
	ReasonModelMismatch = "model_mismatch" // its vectors come from another model than the class's
	ReasonRejected      = "index_rejected" // Weaviate does not take it
)

const (
	batchSize = 100 // objects in one write, at most
	leastSize = 8   // objects in one write, at least, if there are enough
	writers   = 4   // writes at once
	looks     = 3   // for an entity that a crash may have damaged, at most
)

// Index is the class of one model, as its writer sees it. Its calls follow each other,
// in the order of the bus, and the entities of a partition have one writer: Weaviate
// has no conditional writes.
type Index struct {
	client  *Client
	class   string
	model   Model
	tenants map[string]bool // whose shards have an anchor

	// doubtful are entities of a write that failed, with the looks that are left: a
	// crash in the middle of a write can leave edges that lead searches astray.
	doubtful map[schema.Ref]int
}

// OpenIndex makes the class of a model and its alias if they are missing.
func OpenIndex(ctx context.Context, c *Client, m Model) (*Index, error) {
	class, err := c.ensure(ctx, m)
	if err == nil {
		err = c.introduce(ctx, class)
	}
	if err != nil {
		return nil, err
	}
	return &Index{client: c, class: class, model: m, tenants: map[string]bool{}, doubtful: map[schema.Ref]int{}}, nil
}

// Apply stores the newest change of each entity. When it returns nil, the changes
// outlive a crash of Weaviate and searches see them. A permanent error says that the
// index or Weaviate refuses a change; the other changes may not be stored yet. After
// any other error the same call may be repeated. It then searches for the entities that it
// writes, and deletes an entity that is not found, to insert it again.
func (i *Index) Apply(ctx context.Context, changes []events.Change) error {
	latest := newest(changes)
	err := i.store(ctx, latest)
	if err == nil {
		return i.look(ctx, latest)
	}
	if _, permanent := stream.AsPermanent(err); !permanent {
		for ref := range latest {
			i.doubtful[ref] = looks
		}
	}
	return err
}

// store writes changes and makes them outlive a crash.
func (i *Index) store(ctx context.Context, latest map[schema.Ref]*events.Change) error {
	breaks := i.client.breaks.n.Load()
	var random [4]byte // other bits than in earlier writes
	rand.Read(random[:])
	mask := binary.LittleEndian.Uint32(random[:])
	tenants := map[string]bool{}
	var objects []*pb.BatchObject
	var gone []schema.Ref
	for _, c := range latest {
		tenants[c.Tenant] = true
		if c.Op == events.OpDelete {
			gone = append(gone, c.Ref)
			continue
		}
		if err := i.check(c); err != nil {
			return err
		}
		o, err := i.object(c, mask)
		if err != nil {
			return err
		}
		objects = append(objects, o)
	}
	names := slices.Sorted(maps.Keys(tenants))
	if len(names) == 0 {
		return nil
	}
	if err := i.makeShards(ctx, names); err != nil {
		return err
	}
	if err := i.remove(ctx, gone); err != nil {
		return err
	}
	refused, err := i.write(ctx, objects)
	if err != nil {
		return err
	}
	if err := i.fence(ctx, names); err != nil {
		return err
	}
	if i.client.breaks.n.Load() != breaks {
		return errors.New("weaviate: the connection broke while a batch was written: it is written again")
	}
	if refused != nil { // while Weaviate takes other objects of the same shards
		return stream.Permanent(ReasonRejected, refused)
	}
	return nil
}

// look searches for doubtful entities by their own vectors. It deletes any that are not found, and
// returns an error then.
func (i *Index) look(ctx context.Context, latest map[schema.Ref]*events.Change) error {
	missed := make(chan schema.Ref, len(latest))
	group := writing(ctx)
	for ref, c := range latest {
		if i.doubtful[ref] > 0 && c.Op == events.OpUpsert {
			group.Go(func(ctx context.Context) error {
				found, err := i.found(ctx, c)
				if err == nil && !found {
					missed <- ref
				}
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	close(missed)
	var again []schema.Ref
	for ref := range missed {
		if i.doubtful[ref]--; i.doubtful[ref] > 0 {
			again = append(again, ref)
		}
	}
	if len(again) == 0 {
		for ref := range latest {
			delete(i.doubtful, ref)
		}
		return nil
	}
	if err := i.remove(ctx, again); err != nil {
		return err
	}
	return fmt.Errorf("weaviate: searches do not find %d entities after a failed write, such as %s: they are written again", len(again), again[0].ID)
}

// found reports whether searches find an entity by each of its vectors, of a list by the
// first, or find enough others that are as near.
func (i *Index) found(ctx context.Context, c *events.Change) (bool, error) {
	const limit, same = 50, -0.999 // the negative product of a unit vector with itself, about
	a := asker{dimensions: c.Vectors.Dimensions}
	a.addAll(c.Vectors, 1)
	for _, q := range a.questions {
		results, err := i.client.find(ctx, &pb.SearchRequest{
			Collection: i.class, Tenant: c.Tenant, Limit: limit, NearVector: q, Metadata: &pb.MetadataRequest{Distance: true},
		})
		if err != nil {
			return false, err
		}
		own := func(r *pb.SearchResult) bool { return r.GetMetadata().GetId() == idOf(c.Ref) }
		if !slices.ContainsFunc(results, own) && (len(results) < limit || results[limit-1].GetMetadata().GetDistance() > same) {
			return false, nil
		}
	}
	return true, a.err
}

// newest returns the newest change of each entity.
func newest(changes []events.Change) map[schema.Ref]*events.Change {
	out := map[schema.Ref]*events.Change{}
	for n := range changes {
		c := &changes[n]
		if before := out[c.Ref]; before == nil || c.Version.Newer(before.Version) {
			out[c.Ref] = c
		}
	}
	return out
}

// check returns a permanent error for vectors that no search could use.
func (i *Index) check(c *events.Change) error {
	switch {
	case c.Vectors == nil:
		return stream.Permanent(ReasonBadVector, fmt.Errorf("weaviate: %s has no vectors", c.ID))
	case c.Vectors.Model != i.model.Name || c.Vectors.Dimensions != i.model.Dimensions:
		return stream.Permanent(ReasonModelMismatch, fmt.Errorf("weaviate: %s was embedded by %s in %d dimensions, class %s holds %s in %d",
			c.ID, c.Vectors.Model, c.Vectors.Dimensions, i.class, i.model.Name, i.model.Dimensions))
	}
	for path, v := range c.Vectors.All() {
		if err := index.CheckVector(v, i.model.Dimensions); err != nil {
			return stream.Permanent(ReasonBadVector, fmt.Errorf("weaviate: vector %s of %s: %w", path, c.ID, err))
		}
	}
	return nil
}

// makeShards makes the shards of tenants, each with its anchor.
func (i *Index) makeShards(ctx context.Context, names []string) error {
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return i.tenants[name] })
	if len(missing) == 0 {
		return nil
	}
	tenants := make([]models.Tenant, len(missing))
	for n, name := range missing {
		tenants[n].Name = name
	}
	if err := i.client.schema.TenantsCreator().WithClassName(i.class).WithTenants(tenants...).Do(ctx); err != nil {
		return fmt.Errorf("weaviate: make tenants %s of %s: %w", strings.Join(missing, ", "), i.class, err)
	}
	for _, tenant := range missing {
		o, err := i.anchor(tenant)
		if err != nil {
			return err
		}
		err = i.client.call(ctx, http.MethodGet, i.path(tenant, o.Uuid), nil, nil)
		if notFound(err) {
			err = i.writeOwn(ctx, []*pb.BatchObject{o})
		}
		if err != nil {
			return fmt.Errorf("the first object of %s: %w", tenant, err)
		}
		i.tenants[tenant] = true
	}
	return nil
}

// path returns the REST path of an object.
func (i *Index) path(tenant, id string) string {
	return "/objects/" + i.class + "/" + id + "?tenant=" + url.QueryEscape(tenant)
}

// remove deletes the objects of entities.
func (i *Index) remove(ctx context.Context, gone []schema.Ref) error {
	group := writing(ctx)
	for _, ref := range gone {
		group.Go(func(ctx context.Context) error {
			err := i.client.call(ctx, http.MethodDelete, i.path(ref.Tenant, idOf(ref)), nil, nil)
			if notFound(err) {
				return nil
			}
			return err
		})
	}
	return group.Wait()
}

// writing returns a pool of writers that ends with the first error.
func writing(ctx context.Context) *pool.ContextPool {
	return pool.New().WithMaxGoroutines(writers).WithContext(ctx).WithCancelOnError().WithFirstError()
}

// write writes objects in batches, in no order. refused names an object that Weaviate
// does not take, although it takes the batch.
func (i *Index) write(ctx context.Context, objects []*pb.BatchObject) (refused, err error) {
	var first atomic.Pointer[error]
	group := writing(ctx)
	size := min(batchSize, max(leastSize, (len(objects)+writers-1)/writers))
	for batch := range slices.Chunk(objects, size) {
		group.Go(func(ctx context.Context) error {
			failed, err := i.client.write(ctx, batch)
			for _, f := range failed {
				fields := batch[f.at].GetProperties().GetNonRefProperties().GetFields()
				err := fmt.Errorf("weaviate: %s %q of tenant %s: %s", fields[propKind].GetStringValue(), fields[propKey].GetStringValue(), batch[f.at].Tenant, f.reason)
				first.CompareAndSwap(nil, &err)
			}
			return err
		})
	}
	err = group.Wait()
	if p := first.Load(); p != nil {
		refused = *p
	}
	return refused, err
}

// writeOwn writes objects of the index itself, which Weaviate has no reason to refuse.
func (i *Index) writeOwn(ctx context.Context, objects []*pb.BatchObject) error {
	return errors.Join(i.write(ctx, objects))
}

// fence makes earlier writes to the shards of some tenants outlive a crash: every batch to a
// shard, however small, flushes the logs of the shard's vector indexes. Writing an object by
// itself flushes the indexes of its own vectors alone.
func (i *Index) fence(ctx context.Context, tenants []string) error {
	objects := make([]*pb.BatchObject, len(tenants))
	for n, tenant := range tenants {
		o, err := i.bare(schema.Ref{Tenant: tenant, Kind: kindFence}, map[string]any{propRevision: rand.Text()})
		if err != nil {
			return err
		}
		objects[n] = o
	}
	if err := i.writeOwn(ctx, objects); err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	return nil
}

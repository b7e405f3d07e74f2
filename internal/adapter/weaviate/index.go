package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The kinds of objects that are no entities.
const (
	kindAnchor    = "anchor"
	kindFence     = "fence"
	kindPositions = "positions"
)

// Deps are what an index works with.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Index is the class of one model, as its writer sees it. Calls of Apply follow
// each other; what writes the same entities at the same time has to be one
// Index, because Weaviate can not be asked to write only what is newer.
//
// Every object names the session it was written in: one of this session was
// fenced, and of any other it is not known.
type Index struct {
	client  *Client
	class   string
	model   Model
	log     *slog.Logger
	metrics *metrics
	tenants tenants

	mu        sync.Mutex
	session   session
	fences    uint64 // so far in this session
	positions map[int]uint64
}

// OpenIndex makes the class of a model and its alias where they are missing, and
// reads how far it has been written. A class that is there and differs from what
// this program makes is a *DifferentError.
func OpenIndex(ctx context.Context, c *Client, m Model, d Deps) (*Index, error) {
	if d.Logger == nil || d.Registerer == nil {
		return nil, errors.New("weaviate: an index needs a logger and a registerer")
	}
	class, err := c.ensure(ctx, m)
	if err != nil {
		return nil, err
	}
	if err := c.introduce(ctx, class); err != nil {
		return nil, err
	}
	i := &Index{client: c, class: class, model: m, log: d.Logger, session: newSession(), positions: map[int]uint64{}}
	i.tenants = tenants{client: c, class: class, begin: i.anchor, known: map[string]bool{}}
	if err := i.tenants.add(ctx, bookkeeping); err != nil {
		return nil, err
	}
	if err := i.loadPositions(ctx); err != nil {
		return nil, err
	}
	if i.metrics, err = newMetrics(d.Registerer); err != nil {
		return nil, err
	}
	return i, nil
}

// Close takes the metrics back. The client stays open.
func (i *Index) Close() { i.metrics.unregister() }

// Class returns the name of the class.
func (i *Index) Class() string { return i.class }

// Positions returns the bus offset up to which changes were applied, by
// partition.
func (i *Index) Positions() map[int]uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.positions)
}

// Apply stores the changes that are newer than what is there, then the
// positions. When it returns nil, the changes outlive a crash of Weaviate and
// searches see them. A change that can never be applied fails the call with a
// permanent error before anything is stored, unless Weaviate alone finds fault
// with it. After any other error the same call may be repeated.
func (i *Index) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for at := range changes {
		if err := i.check(&changes[at]); err != nil {
			return err
		}
	}
	if err := i.store(ctx, newest(changes)); err != nil {
		return err
	}
	return i.advance(ctx, through)
}

// begin ends the session and begins another: nothing is known any more of what
// was written.
func (i *Index) begin() { i.session, i.fences = newSession(), 0 }

// newest returns the newest change of each entity, by tenant, in the order in
// which entities first appear.
func newest(changes []events.Change) map[string][]*events.Change {
	at := map[schema.Ref]int{}
	out := map[string][]*events.Change{}
	for n := range changes {
		c := &changes[n]
		where, there := at[c.Ref]
		switch {
		case !there:
			at[c.Ref] = len(out[c.Tenant])
			out[c.Tenant] = append(out[c.Tenant], c)
		case c.Version.Newer(out[c.Tenant][where].Version):
			out[c.Tenant][where] = c
		}
	}
	return out
}

// store writes what is to be written and fences it in. An error ends the
// session.
func (i *Index) store(ctx context.Context, byTenant map[string][]*events.Change) (err error) {
	defer func() {
		if err != nil {
			i.begin()
		}
	}()
	if len(byTenant) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(byTenant))
	if err := i.tenants.add(ctx, names...); err != nil {
		return err
	}
	breaks := i.client.breaks.n.Load()
	var objects []*pb.BatchObject
	var fenced []string
	for _, tenant := range names {
		some, err := i.due(ctx, tenant, byTenant[tenant])
		if err != nil {
			return err
		}
		if len(some) > 0 {
			objects, fenced = append(objects, some...), append(fenced, tenant)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	refused, err := i.write(ctx, objects)
	if err != nil {
		return err
	}
	if err := i.fence(ctx, fenced); err != nil {
		return err
	}
	if i.client.breaks.n.Load() != breaks {
		return errors.New("weaviate: the connection broke while a batch was written: it is written again")
	}
	return refused
}

// due returns the objects to write for one tenant: what is newer than what is
// stored, and what is as new and was written in another session.
func (i *Index) due(ctx context.Context, tenant string, changes []*events.Change) ([]*pb.BatchObject, error) {
	ids := make([]string, len(changes))
	for n, c := range changes {
		ids[n] = idOf(c.Ref)
	}
	there, err := i.heads(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	var objects []*pb.BatchObject
	for n, c := range changes {
		s := stored{change: *c, session: i.session}
		if old := there[ids[n]]; old != nil {
			s.rewrite = old.session.name != i.session.name
			if !c.Version.Newer(old.change.Version) && !(s.rewrite && c.Version == old.change.Version) {
				i.metrics.count(changeStale)
				continue
			}
		}
		i.metrics.count(s.outcome())
		o, err := s.object(i.class)
		if err != nil {
			return nil, stream.Permanent(ReasonBadChange, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// write writes objects in batches. Its first result is a permanent error that
// names what Weaviate refuses for good: the objects beside it are written.
func (i *Index) write(ctx context.Context, objects []*pb.BatchObject) (refused, err error) {
	batches := slices.Collect(slices.Chunk(objects, i.client.config.share(len(objects))))
	permanent := make([]error, len(batches))
	err = parallel(len(batches), i.client.config.Parallel, func(n int) (err error) {
		permanent[n], err = i.writeBatch(ctx, batches[n])
		return err
	})
	return errors.Join(permanent...), err
}

// writeBatch writes one batch and tries what it did not take once more, alone:
// in another session, for a refusal may come after the object was stored and
// before its vectors were indexed.
func (i *Index) writeBatch(ctx context.Context, objects []*pb.BatchObject) (refused, err error) {
	failed, err := i.client.write(ctx, objects)
	if err != nil {
		return nil, err
	}
	for _, f := range failed {
		o := objects[f.at]
		move(o, i.session, newSession())
		again, err := i.client.write(ctx, []*pb.BatchObject{o})
		if err != nil {
			return nil, err
		}
		if len(again) == 0 {
			continue
		}
		err = fmt.Errorf("weaviate: %s %q of tenant %s: %s", text(o, propKind), text(o, propKey), o.Tenant, again[0].reason)
		if passing(again[0].reason) {
			return nil, err
		}
		if refused == nil {
			refused = stream.Permanent(ReasonRejected, err)
		}
	}
	return refused, nil
}

func text(o *pb.BatchObject, property string) string {
	return o.GetProperties().GetNonRefProperties().GetFields()[property].GetStringValue()
}

// fence makes what was written before it to the shards of some tenants outlive
// a crash: every batch to a shard, however small, flushes what the vector
// indexes of the shard have logged. Writing one object by itself does not: that
// flushes the indexes of its own vectors alone.
func (i *Index) fence(ctx context.Context, tenants []string) error {
	i.fences++
	objects := make([]*pb.BatchObject, len(tenants))
	for n, tenant := range tenants {
		o, err := i.note(tenant, kindFence, i.session.name+"/"+strconv.FormatUint(i.fences, 10))
		if err != nil {
			return err
		}
		objects[n] = o
	}
	if err := i.client.writeAll(ctx, objects); err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	return nil
}

// note returns an object that is no entity: one of a kind in each shard.
func (i *Index) note(tenant, kind, text string) (*pb.BatchObject, error) {
	properties, err := structpb.NewStruct(map[string]any{propKind: kind, propDocument: text, propRevision: "0", propSource: "0"})
	if err != nil {
		return nil, fmt.Errorf("weaviate: %w", err)
	}
	return &pb.BatchObject{
		Uuid: noteID(tenant, kind), Collection: i.class, Tenant: tenant,
		Properties: &pb.BatchObject_Properties{NonRefProperties: properties},
	}, nil
}

// noteID can be no entity's: no kind of entity is called like it.
func noteID(tenant, kind string) string {
	return uuid.NewSHA1(space, []byte(tenant+"/"+kind+"/")).String()
}

// advance stores the positions. They never fall.
func (i *Index) advance(ctx context.Context, through map[int]uint64) error {
	next := maps.Clone(i.positions)
	for p, at := range through {
		next[p] = max(next[p], at)
	}
	if maps.Equal(next, i.positions) {
		return nil
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("weaviate: positions: %w", err)
	}
	o, err := i.note(bookkeeping, kindPositions, string(raw))
	if err != nil {
		return err
	}
	if err := i.client.writeAll(ctx, []*pb.BatchObject{o}); err != nil {
		return fmt.Errorf("positions: %w", err)
	}
	i.positions = next
	return nil
}

// loadPositions reads the only object of its shard. It asks without a filter: a
// crash can leave an object that none finds.
func (i *Index) loadPositions(ctx context.Context) error {
	level := pb.ConsistencyLevel_CONSISTENCY_LEVEL_QUORUM
	found, err := i.client.find(ctx, &pb.SearchRequest{
		Collection: i.class, Tenant: bookkeeping, Limit: 1, ConsistencyLevel: &level,
		Properties: &pb.PropertiesRequest{NonRefProperties: []string{propDocument}},
	})
	if err != nil || len(found) == 0 {
		return err
	}
	raw := found[0].GetProperties().GetNonRefProps().GetFields()[propDocument].GetTextValue()
	if err := json.Unmarshal([]byte(raw), &i.positions); err != nil {
		return fmt.Errorf("weaviate: positions of %s: %w", i.class, err)
	}
	return nil
}

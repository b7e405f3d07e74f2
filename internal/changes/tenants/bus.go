package tenants

import (
	"context"
	"slices"
	"strconv"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Server is a bus that holds the records of tenants.
type Server interface {
	stream.Publisher
	stream.Republisher
	stream.Groups
	stream.Follower
	stream.Topics
	// Committed returns how far a group has come in each partition.
	Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error)
	// Erase removes the records of last's topic that match, all of one tenant, and returns how
	// many stay on the bus, to be dropped when their retention ends. If they are between records
	// of other tenants, last, which has a null value, takes their place.
	Erase(ctx context.Context, last stream.Message, match func(stream.Message) bool) (left int, err error)
}

// Bus is a bus that hides records behind fences.
type Bus struct {
	Server
	fences *Fences
	tenant string // Follow reads for this tenant alone; empty: for all
}

// NewBus returns a bus that obeys fences.
func NewBus(s Server, f *Fences) *Bus { return &Bus{Server: s, fences: f} }

// Publish implements stream.Publisher. It drops records behind a fence: their publisher has
// not learned of the fence yet.
func (b *Bus) Publish(ctx context.Context, msgs ...stream.Message) error {
	fences, end := b.fences.beginBatch("")
	defer end()
	kept := msgs
	if len(fences) > 0 {
		kept = slices.DeleteFunc(slices.Clone(msgs), func(m stream.Message) bool { return behind(fences, m, true) })
	}
	if len(kept) == 0 {
		return ctx.Err()
	}
	return b.Server.Publish(ctx, kept...)
}

// Republish implements stream.Republisher.
func (b *Bus) Republish(ctx context.Context, m stream.Message) (bool, error) {
	fences, end := b.fences.beginBatch("")
	defer end()
	if behind(fences, m, true) {
		return false, nil
	}
	return b.Server.Republish(ctx, m)
}

// Consume implements stream.Groups.
func (b *Bus) Consume(ctx context.Context, topic events.Topic, group string, handle func(context.Context, stream.Partition) error) error {
	return b.Server.Consume(ctx, topic, group, func(ctx context.Context, p stream.Partition) error {
		own := &partition{Partition: p, fences: b.fences, end: func() {}}
		defer func() { own.end() }()
		return handle(ctx, own)
	})
}

// partition is a partition of a Bus. A batch is under way from one fetch to the next.
type partition struct {
	stream.Partition
	fences *Fences
	end    func()
}

// Fetch implements stream.Partition.
func (p *partition) Fetch(ctx context.Context, max int) ([]stream.Message, error) {
	p.end()
	msgs, err := p.Partition.Fetch(ctx, max)
	fences, end := p.fences.beginBatch("")
	p.end = end
	withhold(fences, msgs)
	return msgs, err
}

// Follow implements stream.Follower.
func (b *Bus) Follow(ctx context.Context, topic events.Topic, from map[int]uint64, handle func(context.Context, []stream.Message) error) error {
	return b.Server.Follow(ctx, topic, from, func(ctx context.Context, msgs []stream.Message) error {
		fences, end := b.fences.beginBatch(b.tenant)
		defer end()
		withhold(fences, msgs)
		return handle(ctx, msgs)
	})
}

// withhold removes the values of messages behind fences.
func withhold(fences map[string]Fence, msgs []stream.Message) {
	for i := range msgs {
		if behind(fences, msgs[i], false) {
			msgs[i].Value, msgs[i].Erased = nil, true
		}
	}
}

// lastOf returns the record that represents everything erased of a tenant in a topic. No entity
// has its key, as ids are not empty.
func lastOf(topic events.Topic, tenant string, revision uint64) stream.Message {
	return stream.Message{Topic: topic, Key: tenant + "/", Headers: map[string]string{
		events.HeaderRevision: strconv.FormatUint(revision, 10), events.HeaderErased: tenant,
	}}
}

package streamtest

import (
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Op names a call on the bus.
type Op string

// The calls that can be made to fail.
const (
	OpPublish Op = "publish"
	OpFetch   Op = "fetch"
	OpCommit  Op = "commit"
	OpFollow  Op = "follow"
	OpEnd     Op = "end"
)

// Call is a call about to be served. Messages is set for a publish; other
// calls set the other fields that apply.
type Call struct {
	Op        Op
	Topic     events.Topic
	Group     string
	Partition int
	Offset    uint64 // of a commit
	Messages  []stream.Message
}

// Fail calls fn before every call; an error from it becomes the call's error, and
// the call has no effect. A nil fn ends the faults. fn runs on the caller's
// goroutine, may block, and may use the bus.
func (b *Bus) Fail(fn func(Call) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = fn
}

func (b *Bus) fault(c Call) error {
	b.mu.Lock()
	fn := b.fail
	b.mu.Unlock()
	if fn == nil {
		return nil
	}
	return fn(c)
}

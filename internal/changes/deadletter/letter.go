package deadletter

import (
	"strconv"
	"strings"
	"time"
	"unique"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/events"
)

// Letter describes a dead letter, without the bytes it holds.
type Letter struct {
	ID       string                 `json:"id"`
	State    events.DeadLetterState `json:"state" doc:"open, replayed, superseded (not replayed, a newer record had come) or dropped." enum:"open,replayed,superseded,dropped"`
	Stage    string                 `json:"stage" doc:"The stage that gave up."`
	Topic    events.Topic           `json:"topic" doc:"Where the record came from, and where a replay puts it."`
	Key      string                 `json:"key" doc:"The record's key, tenant/id."`
	Revision uint64                 `json:"revision,omitempty" doc:"Of the change in the record."`
	Reason   string                 `json:"reason" doc:"A stable word."`
	Detail   string                 `json:"detail" doc:"The error, in words; lists cut it short."`
	Attempts int                    `json:"attempts" doc:"How often it was tried."`
	Failed   time.Time              `json:"failed" doc:"When it failed last."`

	tenant    string
	partition int    // place on the dlq topic, not that of the record
	offset    uint64 //
}

// maxDetail is how much of an error's text is kept in memory, in bytes. The rest
// stays on the bus.
const maxDetail = 200

func newLetter(l events.DeadLetter, partition int, offset uint64) Letter {
	// The few values that repeat a thousandfold are kept once.
	one := func(s string) string { return unique.Make(s).Value() }
	detail := strings.Clone(l.Detail)
	if len(detail) > maxDetail {
		detail = strings.ToValidUTF8(detail[:maxDetail], "") + "…"
	}
	out := Letter{
		ID: l.ID, State: events.DeadLetterState(one(string(l.State))), Stage: one(l.Stage), Topic: events.Topic(one(string(l.Topic))),
		Key: l.Key, Reason: one(l.Reason), Detail: one(detail), Attempts: l.Attempts, Failed: l.Failed,
		tenant: identity.DefaultTenant, partition: partition, offset: offset,
	}
	// A key that names no tenant was not written by a stage.
	if name, _, ok := strings.Cut(l.Key, "/"); ok && name != "" {
		out.tenant = one(name)
	}
	out.Revision, _ = strconv.ParseUint(l.Headers[events.HeaderRevision], 10, 64)
	return out
}

func (l Letter) open() bool { return l.State == events.DeadLetterOpen }

// compare orders dead letters by when they failed.
func (l Letter) compare(o Letter) int {
	if c := l.Failed.Compare(o.Failed); c != 0 {
		return c
	}
	return strings.Compare(l.ID, o.ID)
}

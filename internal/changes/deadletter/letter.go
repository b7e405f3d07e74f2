package deadletter

import (
	"strconv"
	"strings"
	"time"
	"unique"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/events"
)

// Letter describes a dead letter, without the bytes it holds.
type Letter struct {
	ID       string                 `json:"id"`
	State    events.DeadLetterState `json:"state" doc:"open, replayed, superseded (not replayed, a newer record had come) or dropped." enum:"open,replayed,superseded,dropped"`
	Stage    string                 `json:"stage" doc:"The stage that gave up."`
	Topic    events.Topic           `json:"topic" doc:"Topic of the record; a replay publishes it there again."`
	Key      string                 `json:"key" doc:"The record's key, tenant/id."`
	Revision uint64                 `json:"revision,omitempty" doc:"Revision of the change in the record."`
	Reason   string                 `json:"reason" doc:"A stable word."`
	Detail   string                 `json:"detail" doc:"The error, in words; lists cut it short."`
	Attempts int                    `json:"attempts" doc:"Number of attempts."`
	Failed   time.Time              `json:"failed" doc:"When it failed last."`

	tenant    string
	partition int    // of the letter on the dlq topic, not of the record
	offset    uint64 //
}

// maxDetail is how much of an error's text is kept in memory, in bytes. The rest
// stays on the bus.
const maxDetail = 200

func newLetter(l events.DeadLetter, partition int, offset uint64) Letter {
	// The few values that repeat a thousandfold are kept once.
	intern := func(s string) string { return unique.Make(s).Value() }
	detail := strings.Clone(l.Detail)
	if len(detail) > maxDetail {
		detail = strings.ToValidUTF8(detail[:maxDetail], "") + "…"
	}
	out := Letter{
		ID: l.ID, State: events.DeadLetterState(intern(string(l.State))), Stage: intern(l.Stage), Topic: events.Topic(intern(string(l.Topic))),
		Key: l.Key, Reason: intern(l.Reason), Detail: intern(detail), Attempts: l.Attempts, Failed: l.Failed,
		tenant: identity.DefaultTenant, partition: partition, offset: offset,
	}
	// A key that names no tenant was not written by a stage.
	if name, _, ok := strings.Cut(l.Key, "/"); ok && name != "" {
		out.tenant = intern(name)
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

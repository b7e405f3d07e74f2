package deadletter

import (
	"strconv"
	"strings"
	"time"
	"unique"

	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
)

// Letter describes a dead letter, without the bytes it holds.
type Letter struct {
	ID       string             `json:"id"`
	State    events.LetterState `json:"state" doc:"open, replayed, superseded (not replayed, a newer record had come) or dropped."`
	Stage    string             `json:"stage" doc:"The stage that gave up."`
	Topic    events.Topic       `json:"topic" doc:"Where the record came from, and where a replay puts it."`
	Key      string             `json:"key" doc:"The record's key, tenant/id."`
	Revision uint64             `json:"revision,omitempty" doc:"Of the change in the record."`
	Reason   string             `json:"reason" doc:"A stable word."`
	Detail   string             `json:"detail" doc:"The error, in words; lists cut it short."`
	Attempts int                `json:"attempts"`
	Failed   time.Time          `json:"failed"`

	tenant    string
	partition int    // place on the dlq topic, not that of the record
	offset    uint64 //
}

// maxDetail is how much of an error's text a box remembers, in bytes. The rest
// stays on the bus.
const maxDetail = 200

func newLetter(l events.DeadLetter, partition int, offset uint64) Letter {
	if l.State == "" {
		l.State = events.LetterOpen // written before letters had states
	}
	// The few values that repeat a thousandfold are kept once.
	one := func(s string) string { return unique.Make(s).Value() }
	out := Letter{
		ID: l.ID, State: events.LetterState(one(string(l.State))), Stage: one(l.Stage), Topic: events.Topic(one(string(l.Topic))),
		Key: l.Key, Reason: one(l.Reason), Detail: one(short(l.Detail)), Attempts: l.Attempts, Failed: l.Failed,
		tenant: one(tenantOf(l.Key)), partition: partition, offset: offset,
	}
	out.Revision, _ = strconv.ParseUint(l.Headers[events.HeaderRevision], 10, 64)
	return out
}

// tenantOf returns whose record it was. One whose key names no tenant was not
// written by a stage: it is shown to the default tenant.
func tenantOf(key string) string {
	if name, _, ok := strings.Cut(key, "/"); ok && name != "" {
		return name
	}
	return tenant.Default
}

func short(s string) string {
	if len(s) <= maxDetail {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:maxDetail], "") + "…"
}

// compare orders letters by when they failed.
func (l Letter) compare(o Letter) int {
	if c := l.Failed.Compare(o.Failed); c != 0 {
		return c
	}
	return strings.Compare(l.ID, o.ID)
}

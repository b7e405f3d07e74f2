package events

import (
	"strings"
	"time"
)

// DeadLetterSchema is the newest version of DeadLetter.
const DeadLetterSchema = 1

// DeadLetterState says what became of a dead letter.
type DeadLetterState string

// The states of a dead letter. Only an open dead letter holds the original bytes; the
// others record the decision.
const (
	DeadLetterOpen       DeadLetterState = "open"
	DeadLetterReplayed   DeadLetterState = "replayed"   // published again to its topic
	DeadLetterSuperseded DeadLetterState = "superseded" // not replayed: its key has a newer record
	DeadLetterDropped    DeadLetterState = "dropped"    // given up by an operator
)

// decision follows a dead letter's id in the key of its decision.
const decision = "/decision"

// DecisionKey is the key under which a closed dead letter is stored a second time. A
// reader that begins from the start may write the dead letter itself, under its id,
// as open once more; the decision stays.
func DecisionKey(id string) string { return id + decision }

// ParseDeadLetterKey returns the id of the dead letter at a key of the dlq topic, and
// whether the record is its decision.
func ParseDeadLetterKey(key string) (id string, decided bool) {
	return strings.CutSuffix(key, decision)
}

// DeadLetter is a record that a stage could not process, whole enough to be
// replayed once the cause is fixed.
type DeadLetter struct {
	Schema    int               `json:"schema"`
	ID        string            `json:"id"` // stage, topic, partition and offset: the same failure is one dead letter
	State     DeadLetterState   `json:"state"`
	Stage     string            `json:"stage"`     // the consumer that gave up
	Topic     Topic             `json:"topic"`     // the topic of the record; a replay publishes it there again
	Partition int               `json:"partition"` // with Offset: its place on that topic
	Offset    uint64            `json:"offset"`
	Key       string            `json:"key"`
	Reason    string            `json:"reason"`         // a stable word, e.g. "unknown_schema"
	Detail    string            `json:"detail"`         // the error, in words
	Path      string            `json:"path,omitempty"` // JSON pointer to the mistake in the record, if the error has it
	Attempts  int               `json:"attempts"`       // how often it was tried
	Failed    time.Time         `json:"failed"`
	Headers   map[string]string `json:"headers,omitempty"`
	Original  []byte            `json:"original,omitempty"` // the record's bytes, untouched
}

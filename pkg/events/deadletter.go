package events

import (
	"strings"
	"time"
)

// DeadLetterSchema is the newest version of DeadLetter.
const DeadLetterSchema = 1

// LetterState is where a dead letter stands.
type LetterState string

// The states of a letter. Only an open one holds the original bytes; the others
// are kept as a trace of what was decided.
const (
	LetterOpen       LetterState = "open"
	LetterReplayed   LetterState = "replayed"   // published again to its topic
	LetterSuperseded LetterState = "superseded" // not replayed: its key has a newer record
	LetterDropped    LetterState = "dropped"    // given up by an operator
)

// decision follows a letter's id in the key of its decision.
const decision = "/decision"

// DecisionKey is the key under which a closed letter lies a second time. The
// letter itself, under its id, may be written again as open by whoever meets the
// record anew, as a reader does that begins from the start; the decision stays.
func DecisionKey(id string) string { return id + decision }

// ParseLetterKey returns the id of the letter at a key of the dlq topic, and
// whether it is its decision.
func ParseLetterKey(key string) (id string, decided bool) { return strings.CutSuffix(key, decision) }

// DeadLetter is a record that a stage could not process, whole enough to be
// replayed once the cause is mended.
type DeadLetter struct {
	Schema    int               `json:"schema"`
	ID        string            `json:"id"` // stage, topic, partition and offset: the same failure is one letter
	State     LetterState       `json:"state"`
	Stage     string            `json:"stage"`     // the consumer that gave up
	Topic     Topic             `json:"topic"`     // where the record came from, and where a replay puts it
	Partition int               `json:"partition"` // with Offset: its place on that topic
	Offset    uint64            `json:"offset"`
	Key       string            `json:"key"`
	Reason    string            `json:"reason"`   // a stable word, e.g. "unknown_schema"
	Detail    string            `json:"detail"`   // the error, in words
	Attempts  int               `json:"attempts"` // how often it was tried
	Failed    time.Time         `json:"failed"`
	Headers   map[string]string `json:"headers,omitempty"`
	Original  []byte            `json:"original,omitempty"` // the record's bytes, untouched
}

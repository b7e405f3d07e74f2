package events

import "time"

// DeadLetterSchema is the newest version of DeadLetter.
const DeadLetterSchema = 1

// DeadLetter is a record that a stage could not process, whole enough to be
// replayed once the cause is mended.
type DeadLetter struct {
	Schema   int               `json:"schema"`
	ID       string            `json:"id"`    // stage, topic, partition and offset: the same failure is one letter
	Stage    string            `json:"stage"` // the consumer that gave up
	Topic    Topic             `json:"topic"` // where the record came from, and where a replay puts it
	Key      string            `json:"key"`
	Reason   string            `json:"reason"`   // a stable word, e.g. "unknown_schema"
	Detail   string            `json:"detail"`   // the error, in words
	Attempts int               `json:"attempts"` // how often it was tried
	Failed   time.Time         `json:"failed"`
	Headers  map[string]string `json:"headers,omitempty"`
	Original []byte            `json:"original"` // the record's bytes, untouched
}

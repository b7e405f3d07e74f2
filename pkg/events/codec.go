package events

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/toolstream/toolstream/pkg/schema"
)

// The newest versions of the records that pkg/schema defines.
const (
	ImpressionSchema = 1
	FeedbackSchema   = 1
)

// ReasonUnknownSchema is the reason under which a record of a later version
// goes to the dead letters.
const ReasonUnknownSchema = "unknown_schema"

// UnknownSchemaError says that a record was written by a later version of the
// code than the one that reads it. It is permanent: waiting does not help,
// a newer reader does.
type UnknownSchemaError struct {
	Record string // "change", "impression", "feedback" or "dead letter"
	Schema int
	Known  int // the newest version that this code reads
}

// Error names the record and both versions.
func (e *UnknownSchemaError) Error() string {
	return fmt.Sprintf("%s: schema %d is unknown, this version reads 1 to %d", e.Record, e.Schema, e.Known)
}

// Record is a record of a topic.
type Record interface {
	Change | schema.Impression | schema.Feedback | DeadLetter
}

// versionOf returns the name of a record, its newest version, and the field of its own version.
func versionOf(record any) (name string, newest int, stated *int) {
	switch r := record.(type) {
	case *Change:
		return "change", ChangeSchema, &r.Schema
	case *schema.Impression:
		return "impression", ImpressionSchema, &r.Schema
	case *schema.Feedback:
		return "feedback", FeedbackSchema, &r.Schema
	case *DeadLetter:
		return "dead letter", DeadLetterSchema, &r.Schema
	}
	panic(fmt.Sprintf("events: %T is not a Record", record))
}

// Encode returns a record as bytes, under the newest schema version.
func Encode[T Record](record *T) ([]byte, error) {
	out := *record
	name, newest, stated := versionOf(&out)
	*stated = newest
	raw, err := json.Marshal(&out)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return raw, nil
}

// Decode reads what Encode of this or an older version wrote. It checks the version,
// not the content: see Change.Validate. Bytes that do not fit T may be of a later
// version, whose fields changed their shape: that is then the error. An absent version
// is the first.
func Decode[T Record](raw []byte) (T, error) {
	var out, zero T
	name, newest, stated := versionOf(&out)
	err := json.Unmarshal(raw, &out)
	if err != nil {
		var head struct {
			Schema int `json:"schema"`
		}
		if *stated = 0; json.Unmarshal(raw, &head) == nil {
			*stated = head.Schema
		}
	}
	if *stated < 0 || *stated > newest {
		return zero, &UnknownSchemaError{Record: name, Schema: *stated, Known: newest}
	}
	if err != nil {
		return zero, fmt.Errorf("decode %s: %w", name, err)
	}
	return out, nil
}

// Headers returns the headers of a change's record: schema version, revision,
// operation and, if known, the content hash. The sender adds the trace context.
func Headers(c *Change) map[string]string {
	h := map[string]string{
		HeaderSchema:   strconv.Itoa(ChangeSchema),
		HeaderRevision: strconv.FormatUint(c.Revision, 10),
		HeaderOp:       string(c.Op),
	}
	if c.Hash != "" {
		h[HeaderHash] = c.Hash
	}
	return h
}

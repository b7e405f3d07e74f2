package events

import (
	"encoding/json"
	"errors"
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

// IsUnknownSchema reports whether err is an UnknownSchemaError.
func IsUnknownSchema(err error) bool {
	var unknown *UnknownSchemaError
	return errors.As(err, &unknown)
}

// EncodeChange returns a change as bytes, under the newest schema version.
func EncodeChange(c *Change) ([]byte, error) {
	out := *c
	out.Schema = ChangeSchema
	return encode("change", &out)
}

// DecodeChange reads what EncodeChange of this or an older version wrote. It
// checks the version, not the content: that is Change.Validate.
func DecodeChange(raw []byte) (Change, error) {
	return decode("change", raw, ChangeSchema, func(c *Change) int { return c.Schema })
}

// EncodeImpression returns an impression as bytes, under the newest schema
// version.
func EncodeImpression(i *schema.Impression) ([]byte, error) {
	out := *i
	out.Schema = ImpressionSchema
	return encode("impression", &out)
}

// DecodeImpression reads what EncodeImpression of this or an older version
// wrote.
func DecodeImpression(raw []byte) (schema.Impression, error) {
	return decode("impression", raw, ImpressionSchema, func(i *schema.Impression) int { return i.Schema })
}

// EncodeFeedback returns a feedback event as bytes, under the newest schema
// version.
func EncodeFeedback(f *schema.Feedback) ([]byte, error) {
	out := *f
	out.Schema = FeedbackSchema
	return encode("feedback", &out)
}

// DecodeFeedback reads what EncodeFeedback of this or an older version wrote.
func DecodeFeedback(raw []byte) (schema.Feedback, error) {
	return decode("feedback", raw, FeedbackSchema, func(f *schema.Feedback) int { return f.Schema })
}

// EncodeDeadLetter returns a dead letter as bytes, under the newest schema
// version.
func EncodeDeadLetter(d *DeadLetter) ([]byte, error) {
	out := *d
	out.Schema = DeadLetterSchema
	return encode("dead letter", &out)
}

// DecodeDeadLetter reads what EncodeDeadLetter of this or an older version
// wrote.
func DecodeDeadLetter(raw []byte) (DeadLetter, error) {
	return decode("dead letter", raw, DeadLetterSchema, func(d *DeadLetter) int { return d.Schema })
}

// Headers returns the headers of a change's record: schema version, revision,
// operation and, where there is one, the content hash. The trace context is
// the sender's to add.
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

func encode(record string, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", record, err)
	}
	return raw, nil
}

// decode reads a record. Bytes that do not fit T may be of a later version,
// whose fields changed their shape: that is then the error. An absent version
// is the first.
func decode[T any](record string, raw []byte, known int, version func(*T) int) (T, error) {
	var out, none T
	err := json.Unmarshal(raw, &out)
	found := version(&out)
	if err != nil {
		found = versionOf(raw)
	}
	if found < 0 || found > known {
		return none, &UnknownSchemaError{Record: record, Schema: found, Known: known}
	}
	if err != nil {
		return none, fmt.Errorf("decode %s: %w", record, err)
	}
	return out, nil
}

// versionOf returns the schema version that raw states, 0 where it states none.
func versionOf(raw []byte) int {
	var head struct {
		Schema int `json:"schema"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return 0
	}
	return head.Schema
}

package events

import (
	"encoding/json"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// ChangeSchema is the newest version of Change that this code reads, and the version that it
// writes.
const ChangeSchema = 1

// Op is the operation of a change.
type Op string

// The operations.
const (
	OpUpsert Op = "upsert"
	OpDelete Op = "delete"
)

// Change is one version of one entity on its way into the index. The same
// type travels on tools.raw, tools.standardized and tools.embedded; each stage
// fills its part. A delete carries the head only.
type Change struct {
	Schema int `json:"schema"`
	schema.Ref
	schema.Version
	Op           Op              `json:"op"`
	Provider     string          `json:"provider,omitempty"`
	CallableName string          `json:"callable_name,omitempty"` // of a tool, as schema.CallableName has it
	From         string          `json:"from,omitempty"`          // name of the source that the document was read from; empty if it was sent
	Endpoint     string          `json:"endpoint,omitempty"`      // hash of the source's address when it listed the document, as source.Spec.Endpoint has it
	Format       string          `json:"format,omitempty"`        // name of the recognised format; decides the standardizing rules
	Hash         string          `json:"hash,omitempty"`          // hex SHA-256 of the raw document's canonical JSON
	Released     string          `json:"released,omitempty"`      // hash of the document that an operator released last
	Held         bool            `json:"held,omitempty"`          // an operator keeps the entity out of answers, whatever it says; on a delete: for when it comes back
	First        uint64          `json:"first,omitempty"`         // revision under which the entity came, or came back after a delete or from another provider; absent is this one
	Accepted     time.Time       `json:"accepted"`
	Seen         time.Time       `json:"seen,omitzero"`   // when the change was seen at a source that is crawled
	Event        *Event          `json:"event,omitempty"` // the event that brought the change, if any
	Raw          json.RawMessage `json:"raw,omitempty"`   // the document as JSON; prose is a JSON string

	Document *schema.Document `json:"document,omitempty"` // from the standardizer on
	Vectors  *Vectors         `json:"vectors,omitempty"`  // from the embedder on
}

// Event names the CloudEvent that brought a change, so that its redelivery and
// events older than it are recognised after a restart.
type Event struct {
	Source string    `json:"source"`
	ID     string    `json:"id"`
	Time   time.Time `json:"time,omitzero"` // when it happened, as its source says
}

// Vectors are the unit vectors of one document, all from one model.
type Vectors struct {
	Model       string   `json:"model"` // name and content hash of the model
	Dimensions  int      `json:"dimensions"`
	Name        Vector   `json:"name,omitempty"`        // "name words: description [tags]"
	Flat        Vector   `json:"flat,omitempty"`        // the whole document as clean text
	Description Vector   `json:"description,omitempty"` // absent where the field is empty
	Response    Vector   `json:"response,omitempty"`
	Examples    []Vector `json:"examples,omitempty"`   // one each, in the document's order
	Parameters  []Vector `json:"parameters,omitempty"` // one each, in the document's order
}

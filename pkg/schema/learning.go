package schema

import "time"

// FeedbackEvent is an agent's use of a shown result.
type FeedbackEvent string

// The feedback events.
const (
	Selected  FeedbackEvent = "selected"
	Called    FeedbackEvent = "called"
	Succeeded FeedbackEvent = "succeeded"
	Failed    FeedbackEvent = "failed"
	Rejected  FeedbackEvent = "rejected"
)

// The outcomes of calls that do not show whether the tool was the right one. They are recorded
// and teach nothing.
const (
	ProtocolError    FeedbackEvent = "protocol_error"    // the tool's server violated the protocol
	Timeout          FeedbackEvent = "timeout"           // it did not answer in time
	Refused          FeedbackEvent = "refused"           // the call was not made
	InvalidArguments FeedbackEvent = "invalid_arguments" // the arguments did not fit
)

// Forget is an event of records, never of reports: it takes back what the client or the
// credential of the record taught before.
const Forget FeedbackEvent = "forget"

// Feedback reports one event on one shown tool. The same ID counts once; an
// empty ID is replaced by search, tool and event.
type Feedback struct {
	Schema   int           `json:"schema,omitempty"` // The version of the record on the bus; absent for 1.
	ID       string        `json:"id,omitempty"`
	Tenant   string        `json:"tenant,omitempty"` // The tenant of the credential, never of a body.
	SearchID string        `json:"search_id"`
	ToolID   string        `json:"tool_id"`
	Event    FeedbackEvent `json:"event"`
	Client   string        `json:"client,omitempty"` // Who reports, among the users of the credential.
	Time     time.Time     `json:"time"`

	Credential string `json:"credential,omitempty"` // The name of the caller's token in the tenant, never of a body.
}

// Impression records the results of a search with the features of their ranking, so that
// feedback can be turned into training pairs.
type Impression struct {
	Schema   int       `json:"schema,omitempty"` // The version of the record on the bus; absent for 1.
	SearchID string    `json:"search_id"`
	Tenant   string    `json:"tenant"`
	Query    string    `json:"query"`
	Time     time.Time `json:"time"`
	Weights  string    `json:"weights"`
	Model    string    `json:"model,omitempty"`  // The embedding model of the vector.
	Vector   Direction `json:"vector,omitempty"` // The direction of the query; absent if it could not be embedded.
	Shown    []Shown   `json:"shown"`            // The results in rank order.
}

// Shown is one result of an impression.
type Shown struct {
	ID       string    `json:"id"`
	Kind     Kind      `json:"kind,omitempty"` // The kind of entity; absent for a tool.
	Provider string    `json:"provider,omitempty"`
	Score    float64   `json:"score"`
	Features []float64 `json:"features"`          // The values of the features in the order of fusion.FeatureNames.
	Matches  []Match   `json:"matches,omitempty"` // The matches of the parameters, for the gradient of the penalty.
	Also     []Offer   `json:"also,omitempty"`    // The copies that were named with the result.
	Step     int       `json:"step,omitempty"`    // The step of the query, from 1, to which the features belong; absent for a query of one step.
	Before   int       `json:"before,omitempty"`  // The place, from 1, before clicks of users moved results of the search; absent if they moved none.
}

// Match is one parameter's best argument match s_p.
type Match struct {
	Score    float64 `json:"s"`
	Required bool    `json:"req,omitempty"`
}

// Weights is one version of the fusion model, identified by its content: Hash covers every
// other field.
type Weights struct {
	Schema   int                `json:"schema"`           // The version of the format.
	Version  string             `json:"version"`          // The name of the version: "builtin", "reference" or "w<epoch>-<hash prefix>".
	Epoch    uint64             `json:"epoch"`            // A number that rises with every published version.
	Parent   string             `json:"parent,omitempty"` // The version from which these weights were learned.
	Model    string             `json:"model,omitempty"`  // The embedding model with which they were learned, and whose searches rank by them.
	Features map[string]float64 `json:"features"`         // The weights by name of feature; 0 if absent.
	Bias     float64            `json:"bias"`             // The constant term.
	Tau      float64            `json:"tau"`              // The threshold of the gate, in [0, 1].
	Alpha    float64            `json:"alpha"`            // The steepness of the gate, fixed at 15.
	Required float64            `json:"w_req"`            // The price of a missing required parameter, above 0, as a share of the best score; in points with schema 1.
	Optional float64            `json:"w_opt"`            // The price of a missing optional parameter, in the same unit.
	Created  time.Time          `json:"created"`
	Source   string             `json:"source,omitempty"`        // How the weights were made, in words.
	Trained  int                `json:"trained_pairs,omitempty"` // The number of pairs to which they were fitted.
	Hash     string             `json:"hash"`                    // The hex SHA-256 of the content.
}

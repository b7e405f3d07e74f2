package schema

import "time"

// FeedbackEvent is what an agent did with a shown result.
type FeedbackEvent string

// The feedback events.
const (
	Selected  FeedbackEvent = "selected"
	Called    FeedbackEvent = "called"
	Succeeded FeedbackEvent = "succeeded"
	Failed    FeedbackEvent = "failed"
	Rejected  FeedbackEvent = "rejected"
)

// What a call came to that says nothing of whether the tool was the right one: it is recorded
// and teaches nothing.
const (
	ProtocolError    FeedbackEvent = "protocol_error"    // the tool's server did not answer as it should
	Timeout          FeedbackEvent = "timeout"           // it did not answer in time
	Refused          FeedbackEvent = "refused"           // the call was not made
	InvalidArguments FeedbackEvent = "invalid_arguments" // the arguments did not fit
)

// Forget stands in records alone, nobody reports it: what the client or the credential of
// the record taught before is taken back.
const Forget FeedbackEvent = "forget"

// Feedback reports one event on one shown tool. The same ID counts once; an
// empty ID is replaced by search, tool and event.
type Feedback struct {
	Schema   int           `json:"schema,omitempty"` // on the bus; absent is 1
	ID       string        `json:"id,omitempty"`
	Tenant   string        `json:"tenant,omitempty"` // from the credential, never from a body
	SearchID string        `json:"search_id"`
	ToolID   string        `json:"tool_id"`
	Event    FeedbackEvent `json:"event"`
	Client   string        `json:"client,omitempty"` // who reports, among those of the credential
	Time     time.Time     `json:"time"`

	Credential string `json:"credential,omitempty"` // name of the caller's token in the tenant, never from a body
}

// Impression records what a search showed, with the features it was ranked
// by, so that feedback can be turned into training pairs.
type Impression struct {
	Schema   int       `json:"schema,omitempty"` // on the bus; absent is 1
	SearchID string    `json:"search_id"`
	Tenant   string    `json:"tenant"`
	Query    string    `json:"query"`
	Time     time.Time `json:"time"`
	Weights  string    `json:"weights"`
	Model    string    `json:"model,omitempty"`  // embedding model of the vector
	Vector   Direction `json:"vector,omitempty"` // of the query; absent where it could not be embedded
	Shown    []Shown   `json:"shown"`            // in rank order
}

// Shown is one result of an impression.
type Shown struct {
	ID       string    `json:"id"`
	Kind     Kind      `json:"kind,omitempty"` // absent is a tool
	Provider string    `json:"provider,omitempty"`
	Score    float64   `json:"score"`
	Features []float64 `json:"features"`          // in the order of fusion.FeatureNames
	Matches  []Match   `json:"matches,omitempty"` // parameter matches, for the penalty's gradient
	Also     []Offer   `json:"also,omitempty"`    // the copies that were named beside it
	Step     int       `json:"step,omitempty"`    // from 1: the features are of that step, not of the query; of several
	Before   int       `json:"before,omitempty"`  // place before users' clicks moved results of the search, from 1; absent where they moved none
}

// Match is one parameter's best argument match s_p.
type Match struct {
	Score    float64 `json:"s"`
	Required bool    `json:"req,omitempty"`
}

// Weights is one version of the fusion model. Content decides identity: Hash
// covers every field but itself.
type Weights struct {
	Schema   int                `json:"schema"`           // of the form
	Version  string             `json:"version"`          // "builtin", "reference" or "w<epoch>-<hash prefix>"
	Epoch    uint64             `json:"epoch"`            // rises with every published version
	Parent   string             `json:"parent,omitempty"` // version that these came from
	Model    string             `json:"model,omitempty"`  // embedding model that they were learned with, whose searches rank by them
	Features map[string]float64 `json:"features"`         // weight by feature name; absent is 0
	Bias     float64            `json:"bias"`             // constant term
	Tau      float64            `json:"tau"`              // in [0, 1]
	Alpha    float64            `json:"alpha"`            // steepness of the gate, fixed at 15
	Required float64            `json:"w_req"`            // > 0, a share of the best score; with schema 1 points of it
	Optional float64            `json:"w_opt"`            // > 0, the same
	Created  time.Time          `json:"created"`
	Source   string             `json:"source,omitempty"`        // how it was made, in words
	Trained  int                `json:"trained_pairs,omitempty"` // that they were fitted to
	Hash     string             `json:"hash"`                    // hex SHA-256
}

package sources

import (
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/source"
)

// State is how a source is.
type State string

// The states of a source.
const (
	Live       State = "live"        // it says itself when its list changes
	Polling    State = "polling"     // it is looked at from time to time
	Stale      State = "stale"       // it could not be seen for too long; what it had is kept
	AuthNeeded State = "auth_needed" // it wants a credential, or another one
	Refused    State = "refused"     // it may not be looked at, or its list not be indexed
	Held       State = "held"        // it lost more than half of its tools, and an operator has to confirm that
	Paused     State = "paused"      // it is not looked at
	Removing   State = "removing"    // its tools are being deleted
)

// Status is what is known of a source beside its declaration.
type Status struct {
	State       State     `json:"state" enum:"live,polling,stale,auth_needed,refused,held,paused,removing"`
	Since       time.Time `json:"since,omitzero" doc:"When the state began; of stale, when the source was last seen."`
	LastLook    time.Time `json:"last_look,omitzero" doc:"When the source was last looked at."`
	LastSuccess time.Time `json:"last_success,omitzero" doc:"When the source was last listed whole."`
	LastChange  time.Time `json:"last_change,omitzero" doc:"When that last changed anything."`
	LastError   string    `json:"last_error,omitempty" doc:"Why the last look failed; absent after a success."`
	Next        time.Time `json:"next,omitzero" doc:"When the source is looked at next, unless it speaks up before."`
	Tools       int       `json:"tools" doc:"Tools that the source has."`
	Changed     Changed   `json:"changed" doc:"What the last change came to."`
	Problems    []string  `json:"problems,omitempty" doc:"The first of the documents and tools that could not be taken, with the reason."`
	Held        *Loss     `json:"held,omitempty" doc:"The tools that are gone from the source and wait for a confirmation."`

	StaleAt time.Time `json:"stale_at,omitzero" doc:"When the source becomes stale unless it is seen before."`
}

// Changed counts tools.
type Changed struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
}

// Loss is a set of tools that a source no longer lists.
type Loss struct {
	Missing int      `json:"missing" doc:"How many they are."`
	Some    []string `json:"some" nullable:"false" doc:"The first of their ids."`
	Digest  string   `json:"digest" doc:"Stands for exactly these."`
}

// at returns the status as it is at a time: nobody else says that a source has not been
// seen for too long.
func (s Status) at(now time.Time) Status {
	overdue := !s.StaleAt.IsZero() && now.After(s.StaleAt)
	if overdue && slices.Contains([]State{Live, Polling, Held}, s.State) {
		s.State, s.Since = Stale, s.LastSuccess
	}
	return s
}

// Source is a source with its status.
type Source struct {
	Name string `json:"name"`
	source.Spec
	Declared bool `json:"declared,omitempty" doc:"The source stands in the settings, where alone it can be changed."`
	Status
}

// id names a source.
type id struct{ tenant, name string }

func (i id) String() string { return i.tenant + "/" + i.name }

// record is a source as the store holds it.
type record struct {
	source.Spec
	Declared  bool      `json:"declared,omitempty"`
	Asked     time.Time `json:"asked,omitzero"`       // when a look was last asked for
	Confirmed string    `json:"confirmed,omitempty"`  // digest of the loss that an operator confirmed
	Removed   bool      `json:"removed,omitempty"`    // it is to go
	KeepTools bool      `json:"keep_tools,omitempty"` // but not its tools
}

// The keys of the store.
const (
	specPrefix  = "spec."
	statePrefix = "state."
)

func specKey(i id) string  { return specPrefix + i.tenant + "." + i.name }
func stateKey(i id) string { return statePrefix + i.tenant + "." + i.name }

// idOf reads a key without its prefix. Neither part of it may hold a dot.
func idOf(rest string) (id, bool) {
	tenant, name, ok := strings.Cut(rest, ".")
	return id{tenant, name}, ok && source.ValidateName(name) == nil
}

// overlap reports whether a provider stands at or below another one.
func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

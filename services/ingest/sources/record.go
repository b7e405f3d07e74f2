package sources

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// State is how a source is.
type State string

// The states of a source.
const (
	Live       State = "live"        // it says itself when its list changes
	Polling    State = "polling"     // it is looked at from time to time
	Stale      State = "stale"       // it could not be seen for too long; its tools are kept
	AuthNeeded State = "auth_needed" // it wants a credential, or another one
	Refused    State = "refused"     // it may not be looked at, or its list not be indexed
	Held       State = "held"        // it lost more than half of its tools, and an operator has to confirm that
	Paused     State = "paused"      // it is not looked at
	Removing   State = "removing"    // its tools are being deleted
)

// Status is the state of a source.
type Status struct {
	State       State     `json:"state" enum:"live,polling,stale,auth_needed,refused,held,paused,removing"`
	Since       time.Time `json:"since,omitzero" doc:"When the state began; of stale, when the source was last seen."`
	LastLook    time.Time `json:"last_look,omitzero" doc:"When the source was last looked at."`
	LastSuccess time.Time `json:"last_success,omitzero" doc:"When the source was last listed whole."`
	LastChange  time.Time `json:"last_change,omitzero" doc:"When that last changed anything."`
	LastError   string    `json:"last_error,omitempty" doc:"Why the last look failed; absent after a success."`
	Next        time.Time `json:"next,omitzero" doc:"When the source is looked at next, unless it speaks up before."`
	Tools       int       `json:"tools" doc:"Tools that the source has."`
	Changed     Changed   `json:"changed" doc:"Counts of the last change."`
	LastChanges *Names    `json:"last_changes,omitempty" doc:"The first of the tools and sources of the last change. Lists of sources leave it out."`
	Problems    []string  `json:"problems,omitempty" doc:"The first of the documents and tools that could not be taken, with the reason."`
	Held        *Loss     `json:"held,omitempty" doc:"The tools and sources that are gone from the source and wait for a confirmation."`
	Found       int       `json:"found,omitempty" doc:"Sources that the source names, each one of its own."`

	StaleAt time.Time `json:"stale_at,omitzero" doc:"When the source becomes stale unless it is seen before."`
}

// Changed counts tools, and sources that the source names.
type Changed struct {
	Added   int `json:"added" doc:"Tools that came."`
	Changed int `json:"changed" doc:"Tools that changed."`
	Removed int `json:"removed" doc:"Tools that went."`
}

// Names are the first of the tools and sources that change, by their ids and names: at most 20
// of each.
type Names struct {
	Added   []string `json:"added" nullable:"false" doc:"Added, or to be added."`
	Changed []string `json:"changed" nullable:"false" doc:"Changed, or to be changed."`
	Removed []string `json:"removed" nullable:"false" doc:"Removed, or to be removed."`
}

// maxNames is how many names there are of each.
const maxNames = 20

// changes are counted, and the first of each named.
type changes struct {
	Changed
	names Names
}

func newChanges() changes { return changes{names: Names{[]string{}, []string{}, []string{}}} }

func (c *changes) add(name string)    { addName(name, &c.Changed.Added, &c.names.Added) }
func (c *changes) change(name string) { addName(name, &c.Changed.Changed, &c.names.Changed) }
func (c *changes) remove(name string) { addName(name, &c.Changed.Removed, &c.names.Removed) }

func addName(name string, count *int, names *[]string) {
	if *count++; *count <= maxNames {
		*names = append(*names, name)
	}
}

// Loss is a set of tools and sources that a source no longer lists.
type Loss struct {
	Missing int      `json:"missing" doc:"How many they are."`
	Some    []string `json:"some" nullable:"false" doc:"The first of their ids and names."`
	Digest  string   `json:"digest" doc:"Digest of exactly these."`
}

// Source is a source with its status.
type Source struct {
	Name string `json:"name"`
	source.Spec
	Declared bool   `json:"declared,omitempty" doc:"The source is declared in the settings and can only be changed there."`
	Parent   string `json:"parent,omitempty" doc:"Name of the source that names this one."`
	Called   string `json:"called,omitempty" doc:"The name that the other source gives it."`
	Status
	LastEvent time.Time `json:"last_event,omitzero" doc:"When an event last said that there is something to look at."`
}

// id names a source.
type id struct{ tenant, name string }

func (i id) String() string { return i.tenant + "/" + i.name }

// record is a source as the store holds it.
type record struct {
	source.Spec
	Declared  bool      `json:"declared,omitempty"`
	Asked     time.Time `json:"asked,omitzero"`       // when a look was last asked for
	Told      time.Time `json:"told,omitzero"`        // when the event arrived that was written last, or this was seen at the source that names it
	Confirmed string    `json:"confirmed,omitempty"`  // digest of the loss that an operator confirmed
	Removed   bool      `json:"removed,omitempty"`    // it is to go
	KeepTools bool      `json:"keep_tools,omitempty"` // but not its tools

	// Of a source that another one names.
	Parent string          `json:"parent,omitempty"` // the name of that one
	Called string          `json:"called,omitempty"` // the name that the parent uses
	About  json.RawMessage `json:"about,omitempty"`  // the parent's description, as a provider's document
}

// form is the part of a record whose change requires a new look.
type form struct {
	source.Spec
	About json.RawMessage `json:"about,omitempty"`
}

func (r *record) form() form { return form{r.Spec, r.About} }

// changeable says why a source cannot be changed by hand, or nil.
func (r *record) changeable() error {
	switch {
	case r.Declared:
		return errDeclared
	case r.Parent != "":
		return fmt.Errorf("%w %s: use its deny list", errNamed, r.Parent)
	}
	return nil
}

// The keys of the store.
const (
	specPrefix  = "spec."
	statePrefix = "state."
)

func specKey(i id) string  { return specPrefix + i.tenant + "." + i.name }
func stateKey(i id) string { return statePrefix + i.tenant + "." + i.name }

// isName reports whether a name is valid for a declared source, or as PARENT.NAME.
func isName(name string) bool {
	parent, found, is := strings.Cut(name, ".")
	return source.ValidateName(parent) == nil && (!is || source.ValidateName(found) == nil)
}

// overlap reports whether one provider equals or contains the other.
func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

package live

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// The names of events.
const (
	EventStatus      = "status"
	EventSample      = "sample"
	EventTools       = "tools"
	EventDeadLetters = "dead_letters"
	EventSources     = "sources"
	EventWeights     = "weights"
)

// needs is the role that sees an event: that of the operation that shows the same.
var needs = map[string]identity.Role{
	EventStatus: identity.Operator, EventSample: identity.Operator, EventTools: identity.Reader,
	EventDeadLetters: identity.Operator, EventSources: identity.Writer, EventWeights: identity.Operator,
}

// Bounds of one event.
const (
	namedTools   = 20
	namedSources = 100
)

// Tools says which tools and providers have changed, as far as the caller may find them.
type Tools struct {
	Changed int           `json:"changed" doc:"How many have changed since the event before."`
	Some    []ChangedTool `json:"some" doc:"The newest of them, at most 20."`
}

// ChangedTool is a tool or provider that has changed.
type ChangedTool struct {
	ID       string      `json:"id"`
	Kind     schema.Kind `json:"kind"`
	Revision uint64      `json:"revision" doc:"Of the change: higher is newer."`
	Deleted  bool        `json:"deleted,omitempty" doc:"The caller does not find it any more."`
}

// DeadLetters counts the open dead letters of the tenant.
type DeadLetters struct {
	Open    int            `json:"open" doc:"How many there are."`
	Reasons map[string]int `json:"reasons" doc:"How many of them for which reason."`
}

// Sources says how the sources are that have changed. The first such event of a connection is
// about all of them.
type Sources struct {
	Sources []sources.Source `json:"sources" doc:"Those that have changed, at most 100."`
	Removed []string         `json:"removed,omitempty" doc:"Names of those that are gone, at most 100."`
	More    int              `json:"more,omitempty" doc:"Further ones that have changed or are gone: GET /v1/sources shows all."`
}

// Weights are those that the tenant's searches rank by.
type Weights struct {
	Live  string `json:"live" doc:"Their version."`
	Epoch uint64 `json:"epoch" doc:"Of two versions, the one with the higher epoch was made live later; 0 of the built-in ones."`
}

// frame returns an event as it is sent.
func frame(event string, data any) ([]byte, error) {
	text, err := jsondoc.Plain(data) // on one line
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{[]byte("event: " + event + "\ndata: "), text, []byte("\n\n")}, nil), nil
}

// change is what became of an entity since the last event about tools.
type change struct {
	ref           schema.Ref
	revision      uint64
	before, after *policy.Tool // nil: it was not there, it is not there any more
}

// seen returns what of some changes a scope sees: who could find a tool before, and cannot
// any more, sees that it is gone.
func seen(changes map[schema.Ref]change, scope *policy.Scope) (out Tools) {
	var all []ChangedTool
	for _, c := range changes {
		after := c.after != nil && scope.Allows(c.after)
		if !after && (c.before == nil || !scope.Allows(c.before)) {
			continue
		}
		all = append(all, ChangedTool{ID: c.ref.ID, Kind: c.ref.Kind, Revision: c.revision, Deleted: !after})
	}
	slices.SortFunc(all, func(a, b ChangedTool) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.ID, b.ID))
	})
	return Tools{len(all), all[:min(len(all), namedTools)]}
}

// since returns what has changed among sources, which are by name.
func since(before, now map[string]sources.Source, same func(a, b sources.Source) bool) (out Sources, any bool) {
	var changed, gone []string
	for name, s := range now {
		if was, there := before[name]; !there || !same(was, s) {
			changed = append(changed, name)
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			gone = append(gone, name)
		}
	}
	slices.Sort(changed)
	slices.Sort(gone)
	out = Sources{Sources: []sources.Source{}, Removed: gone[:min(len(gone), namedSources)]}
	for _, name := range changed[:min(len(changed), namedSources)] {
		out.Sources = append(out.Sources, now[name])
	}
	out.More = len(changed) + len(gone) - len(out.Sources) - len(out.Removed)
	return out, len(changed)+len(gone) > 0
}

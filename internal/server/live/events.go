package live

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
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

// needs has the role that sees an event: the role of the operation with the same data.
var needs = map[string]identity.Role{
	EventStatus: identity.Operator, EventSample: identity.Operator, EventTools: identity.Reader,
	EventDeadLetters: identity.Operator, EventSources: identity.Writer, EventWeights: identity.Operator,
}

// Bounds of one event.
const (
	namedTools   = 20
	namedSources = 100
)

// Tools has the changed tools and providers that the caller may find.
type Tools struct {
	Changed int           `json:"changed" doc:"How many tools and providers have changed since the last event."`
	Some    []ChangedTool `json:"some" doc:"The newest changes, at most 20."`
}

// ChangedTool is a tool or provider that has changed.
type ChangedTool struct {
	ID       string      `json:"id"`
	Kind     schema.Kind `json:"kind"`
	Revision uint64      `json:"revision" doc:"Revision of the change: higher is newer."`
	Deleted  bool        `json:"deleted,omitempty" doc:"The caller cannot find it any more."`
}

// DeadLetters counts the open dead letters of the tenant.
type DeadLetters struct {
	Open    int            `json:"open" doc:"Open dead letters."`
	Reasons map[string]int `json:"reasons" doc:"Open dead letters by reason."`
}

// Sources has the sources that have changed. The first such event of a stream has all sources.
type Sources struct {
	Sources []sources.Source `json:"sources" doc:"Sources that have changed, at most 100."`
	Removed []string         `json:"removed,omitempty" doc:"Names of removed sources, at most 100."`
	More    int              `json:"more,omitempty" doc:"How many further sources have changed or were removed: GET /v1/sources shows all."`
}

// Weights are the weights that the tenant's searches use.
type Weights struct {
	Live  string `json:"live" doc:"Version of the weights."`
	Epoch uint64 `json:"epoch" doc:"The version with the higher epoch went live later; 0 for the built-in weights."`
}

// frame returns an event in the form of server-sent events.
func frame(event string, data any) ([]byte, error) {
	text, err := jsondoc.Plain(data) // on one line
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{[]byte("event: " + event + "\ndata: "), text, []byte("\n\n")}, nil), nil
}

// change is how an entity has changed since the last event about tools.
type change struct {
	ref           schema.Ref
	revision      uint64
	before, after *policy.Tool // nil if it did not, or does not, exist
}

// visible returns the changes that a scope sees. A tool that it does not see any more is deleted
// for it.
func visible(changes map[schema.Ref]change, scope *policy.Scope) (out Tools) {
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

// since returns the differences between sources, by name.
func since(before, now map[string]sources.Source) (out Sources, differ bool) {
	var changed, gone []string
	for name, s := range now {
		if was, ok := before[name]; !ok || !reflect.DeepEqual(was, s) {
			changed = append(changed, name)
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok {
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

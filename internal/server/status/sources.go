package status

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/toolstream/toolstream/services/ingest/sources"
)

// Sources is how the sources of a tenant are.
type Sources struct {
	States map[sources.State]int `json:"states" doc:"How many are in which state."`
	Unwell []Unwell              `json:"unwell" nullable:"false" doc:"The first of those that are stale, refused, held or want a credential; of those that a source names one for each state."`
}

// Unwell is a source that is not followed as it should be.
type Unwell struct {
	Name  string        `json:"name"`
	More  int           `json:"more,omitempty" doc:"Further ones in this state that the same source names."`
	State sources.State `json:"state"`
	Since time.Time     `json:"since" doc:"Since when it has been so."`
	Tools int           `json:"tools"`
	Error string        `json:"error,omitempty"`
}

// maxUnwell is how many sources a status names.
const maxUnwell = 20

// sourcesOf sums up the sources of a tenant, nil where there are none or they cannot be
// asked for.
func (r *Reporter) sourcesOf(ctx context.Context, tenant string) *Sources {
	if r.Sources == nil {
		return nil
	}
	all, err := r.Sources(ctx, tenant)
	if err != nil || len(all) == 0 {
		return nil
	}
	s := &Sources{States: map[sources.State]int{}, Unwell: []Unwell{}}
	shown := map[[2]string]int{} // of found ones: where in Unwell, by parent and state
	for _, one := range all {
		s.States[one.State]++
		switch one.State {
		case sources.Stale, sources.AuthNeeded, sources.Refused, sources.Held:
			family := [2]string{one.Parent, string(one.State)}
			if i, there := shown[family]; there {
				s.Unwell[i].More++
			} else if len(s.Unwell) < maxUnwell {
				if one.Parent != "" {
					shown[family] = len(s.Unwell)
				}
				s.Unwell = append(s.Unwell, Unwell{Name: one.Name, State: one.State, Since: one.Since, Tools: one.Tools, Error: one.LastError})
			}
		}
	}
	return s
}

// Others says how many more there are.
func (u Unwell) Others() string {
	if u.More == 0 {
		return ""
	}
	return fmt.Sprintf(" with %d others of its registry", u.More)
}

// Why says what is wrong.
func (u Unwell) Why() string { return cmp.Or(u.Error, "more than half of its tools are gone") }

// judgeSources looks for sources that are not followed.
func (f *findings) judgeSources(s *Sources) {
	if s == nil {
		return
	}
	remedies := map[sources.State]string{
		sources.Stale:      "bring it back; what it had is still searched. `toolstream sources test %s` asks it now",
		sources.AuthNeeded: "name a credential that it takes, or renew the one in crawl.credentials, and then: toolstream sources sync %s",
		sources.Refused:    "the settings under crawl say what is allowed: docs/sources.md. After a change: toolstream sources sync %s",
		sources.Held:       "if they are gone for good: toolstream sources sync %s --confirm",
	}
	for _, u := range s.Unwell {
		what := fmt.Sprintf("source %s%s is %s since %s: %s", u.Name, u.Others(), u.State, u.Since.Format(time.RFC3339), u.Why())
		f.check(false, what, fmt.Sprintf(remedies[u.State], u.Name))
		f.about(aboutSource, u.Name)
	}
	if len(s.Unwell) == 0 {
		f.check(true, "every source is followed", "")
	}
}

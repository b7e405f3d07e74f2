package status

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/toolstream/toolstream/services/ingest/sources"
)

// Sources sums up the sources of a tenant.
type Sources struct {
	States map[sources.State]int `json:"states" doc:"Sources by state."`
	Unwell []Unwell              `json:"unwell" nullable:"false" doc:"The first sources that are stale, refused, held or need a credential; of the sources that a registry names, one for each state."`
}

// Unwell is a source that is not up to date.
type Unwell struct {
	Name  string        `json:"name"`
	More  int           `json:"more,omitempty" doc:"Further sources in this state that the same registry names."`
	State sources.State `json:"state"`
	Since time.Time     `json:"since" doc:"When the source came into this state."`
	Tools int           `json:"tools"`
	Error string        `json:"error,omitempty"`
}

// maxUnwell bounds the sources that a status names.
const maxUnwell = 20

// sourcesOf sums up the sources of a tenant: nil without sources, or while their store is away.
func (r *Reporter) sourcesOf(ctx context.Context, tenant string) *Sources {
	all, err := r.Sources(ctx, tenant)
	if err != nil || len(all) == 0 {
		return nil
	}
	s := &Sources{States: map[sources.State]int{}, Unwell: []Unwell{}}
	shown := map[[2]string]int{} // indexes in Unwell, by registry and state
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

// Others returns the number More in words.
func (u Unwell) Others() string {
	if u.More == 0 {
		return ""
	}
	return fmt.Sprintf(" with %d others of its registry", u.More)
}

// Why returns the problem in words.
func (u Unwell) Why() string { return cmp.Or(u.Error, "more than half of its tools are gone") }

// judgeSources looks for sources that are not up to date.
func (f *findings) judgeSources(s *Sources) {
	if s == nil {
		return
	}
	remedies := map[sources.State]string{
		sources.Stale:      "bring it back; searches still find its tools. `toolstream sources test %s` asks it now",
		sources.AuthNeeded: "name a valid credential, or renew it in crawl.credentials, then: toolstream sources sync %s",
		sources.Refused:    "correct the settings under crawl, as in docs/sources.md, then: toolstream sources sync %s",
		sources.Held:       "if they are gone for good: toolstream sources sync %s --confirm",
	}
	for _, u := range s.Unwell {
		what := fmt.Sprintf("source %s%s is %s since %s: %s", u.Name, u.Others(), u.State, u.Since.Format(time.RFC3339), u.Why())
		f.check(false, what, fmt.Sprintf(remedies[u.State], u.Name))
		f.about(aboutSource, u.Name)
	}
	if len(s.Unwell) == 0 {
		f.check(true, "every source is up to date", "")
	}
}

package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// exportLine is a line of the export of a tenant: a document, or another part of it.
type exportLine struct {
	ID       string          `json:"id"`
	Provider string          `json:"provider"`
	Kind     schema.Kind     `json:"kind"`
	Document json.RawMessage `json:"document"`

	Part  string          `json:"part"`
	Value json.RawMessage `json:"value"`
}

// Export is the export of a tenant, without its tools.
type Export struct {
	Providers []Provider

	tools    map[string]bool
	searches map[string]*asked // by search id
	feedback []schema.Feedback
}

// asked is a search: the query and the results shown.
type asked struct {
	schema.Impression
	used map[string]bool // by tool; false if its use failed or it was rejected
}

// ReadExport reads the output of `toolstream tenants export`, and calls one for each tool.
func ReadExport(r io.Reader, one func(Tool) error) (*Export, error) {
	e := &Export{tools: map[string]bool{}, searches: map[string]*asked{}}
	for rec, err := range func(yield func(record[exportLine], error) bool) { scan(r, "export", yield) } {
		if err == nil {
			err = e.take(&rec.value, one)
		}
		if err != nil {
			return nil, fmt.Errorf("read the export: %w", err)
		}
	}
	return e, nil
}

func (e *Export) take(line *exportLine, one func(Tool) error) error {
	switch {
	case line.Part == "search":
		var i schema.Impression
		if err := json.Unmarshal(line.Value, &i); err != nil || i.SearchID == "" || i.Query == "" {
			return nil // the trainer passes over it too
		}
		i.Vector = schema.Direction{}
		for s := range i.Shown {
			i.Shown[s].Features, i.Shown[s].Matches = nil, nil // there may be millions
		}
		e.searches[i.SearchID] = &asked{Impression: i, used: map[string]bool{}}
	case line.Part == "feedback":
		var f schema.Feedback
		if json.Unmarshal(line.Value, &f) == nil && f.Validate() == nil {
			e.feedback = append(e.feedback, f)
		}
	case line.Part != "" || line.ID == "":
	case line.Kind == schema.KindProvider:
		p := Provider{}
		if err := json.Unmarshal(line.Document, &p); err == nil {
			p.ID, p.Name = line.ID, cmp.Or(p.Name, line.ID)
			e.Providers = append(e.Providers, p)
		}
	case !e.tools[line.ID]:
		e.tools[line.ID] = true
		return one(Tool{ID: line.ID, Provider: line.Provider, Documentation: line.Document})
	}
	return nil
}

// Questions returns the queries of the searches, each text once and the most frequent first.
// It labels a query with the tools that were selected or called after it and did not fail.
// Copies shown in the place of a tool are its alternatives. Open are the texts without any
// known use. Gone counts the uses of deleted tools.
func (e *Export) Questions() (labelled, open []Query, gone int) {
	for _, f := range e.feedback {
		if s := e.searches[f.SearchID]; s != nil {
			s.used[f.ToolID] = f.Event != schema.Failed && f.Event != schema.Rejected
		}
	}
	for _, same := range e.byText() {
		labels, missing := e.labels(same)
		gone += missing
		q := Query{ID: same[0].SearchID, Text: same[0].Query, Labels: labels}
		if len(q.Labels) == 0 {
			open = append(open, q)
		} else {
			labelled = append(labelled, q)
		}
	}
	return labelled, open, gone
}

// byText returns the searches of each text, whatever its spaces and capitals, in the order
// of their times.
func (e *Export) byText() [][]*asked {
	texts := map[string][]*asked{}
	for _, s := range e.searches {
		text := strings.ToLower(strings.Join(strings.Fields(s.Query), " "))
		texts[text] = append(texts[text], s)
	}
	all := slices.Collect(maps.Values(texts))
	for _, same := range all {
		slices.SortFunc(same, func(a, b *asked) int {
			return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.SearchID, b.SearchID))
		})
	}
	slices.SortFunc(all, func(a, b []*asked) int {
		return cmp.Or(len(b)-len(a), a[0].Time.Compare(b[0].Time), cmp.Compare(a[0].SearchID, b[0].SearchID))
	})
	return all
}

// labels returns the tools that searches for the same led to, the most used first.
func (e *Export) labels(same []*asked) (labels []relevance.Label, gone int) {
	labels = []relevance.Label{} // to be filled by hand
	uses := map[string]int{}
	copies := map[string]map[string]bool{} // by tool, all tools ever shown in one place with it
	for _, s := range same {
		for tool, used := range s.used {
			switch {
			case !used:
			case !e.tools[tool]:
				gone++
			default:
				uses[tool]++
			}
		}
		for _, shown := range s.Shown {
			place := []string{shown.ID}
			for _, offer := range shown.Also {
				place = append(place, offer.ID)
			}
			for _, id := range place {
				if copies[id] == nil {
					copies[id] = map[string]bool{}
				}
				for _, other := range place {
					copies[id][other] = true
				}
			}
		}
	}
	taken := map[string]bool{}
	for _, tool := range slices.SortedFunc(maps.Keys(uses), func(a, b string) int {
		return cmp.Or(uses[b]-uses[a], cmp.Compare(a, b))
	}) {
		if taken[tool] {
			continue // an alternative of a tool used more
		}
		l := relevance.Label{ID: tool, Relevance: 1}
		for _, other := range slices.Sorted(maps.Keys(copies[tool])) {
			if other != tool && e.tools[other] {
				l.Alternatives = append(l.Alternatives, other)
				taken[other] = true
			}
		}
		labels = append(labels, l)
	}
	return labels, gone
}

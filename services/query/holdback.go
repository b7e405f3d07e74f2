package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// HoldBack says by which flags entities stand behind all others: by tenant, "" for those
// that are not named.
type HoldBack map[string][]string

// ParseHoldBack reads a list of FLAG, and of TENANT=FLAG for tenants that have a list of
// their own; TENANT=off is an empty one. The error names a flag that is not known.
func ParseHoldBack(list, known []string) (HoldBack, error) {
	out := HoldBack{}
	for _, member := range list {
		tenant, flag, named := strings.Cut(member, "=")
		if !named {
			tenant, flag = "", member
		}
		switch {
		case named && tenant == "":
			return nil, fmt.Errorf("query.hold_back: %q is not TENANT=FLAG", member)
		case named && flag == "off":
			out[tenant] = []string{}
		case slices.Contains(known, flag):
			out[tenant] = append(out[tenant], flag)
		default:
			return nil, fmt.Errorf("query.hold_back: there is no flag %q; there are %s", flag, strings.Join(known, ", "))
		}
	}
	return out, nil
}

func (h HoldBack) of(tenant string) []string {
	if own, ok := h[tenant]; ok {
		return own
	}
	return h[""]
}

// apart takes what is held back out of candidates, in place. What was used for queries like
// this one is not: agents know it.
func apart(found []index.Candidate, uses ranking.UsageStats) (kept, held []index.Candidate) {
	for i := range found {
		if c := &found[i]; c.HeldBack != "" && c.Kind == schema.KindTool && uses.Similar(c.ID) > 0 {
			c.HeldBack = ""
		} else if c.HeldBack != "" {
			held = append(held, *c)
		}
	}
	return slices.DeleteFunc(found, func(c index.Candidate) bool { return c.HeldBack != "" }), held
}

// behind returns the hits of an answer with what is held back behind them.
func behind(hits []ranking.Hit, found Retrieval, m *fusion.Model) []ranking.Hit {
	if !slices.ContainsFunc(found.Steps, func(step Step) bool { return len(step.held) > 0 }) {
		return hits
	}
	there := map[schema.Ref]bool{}
	for _, h := range hits {
		there[h.Ref] = true
	}
	rankings := make([][]ranking.Ranked, len(found.Steps))
	for i, step := range found.Steps {
		rankings[i] = ranking.Rank(step.held, m, step.Signals)
	}
	for _, h := range ranking.Hits(rankings, found.Rank, "") {
		if !there[h.Ref] { // a provider may have other tools, too
			hits = append(hits, h)
		}
	}
	return hits
}

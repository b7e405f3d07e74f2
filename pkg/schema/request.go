package schema

import (
	"fmt"
)

// The limits of a search request. Texts are counted in bytes.
const (
	DefaultK     = 10
	MaxK         = 1000
	MaxQuery     = 64 << 10
	MaxNeeds     = 32 // or steps
	MaxNeedText  = 8 << 10
	MaxArguments = 256
	MaxFilters   = 1000 // values of one filter
	MaxVersion   = 64   // name of a version of the weights
)

// Normalize fills in defaults and checks the request. It reports whether K was above MaxK and
// has been lowered to it. The error is an *Invalid; such a request must not be answered.
func (r *SearchRequest) Normalize() (capped bool, err error) {
	if r.K == 0 {
		r.K = DefaultK
	}
	if r.K < 0 {
		return false, invalid("/k", r.K, "must be 1 to %d", MaxK)
	}
	if r.K > MaxK {
		r.K, capped = MaxK, true
	}
	if r.Rank == "" {
		r.Rank = RankTools
	}
	if r.Rewrite == "" {
		r.Rewrite = RewriteAuto
	}
	return capped, r.validate()
}

func (r *SearchRequest) validate() error {
	var c checks
	c.text("/query", r.Query, MaxQuery)
	c.must(r.Rank == RankTools || r.Rank == RankProviders || r.Rank == RankAuto,
		"/rank", string(r.Rank), "must be %q, %q or %q", RankTools, RankProviders, RankAuto)
	c.must(r.Rewrite == RewriteAuto || r.Rewrite == RewriteOff, "/rewrite", string(r.Rewrite), "must be %q or %q", RewriteAuto, RewriteOff)
	c.add(r.Rerank.Validate())
	if c.count("/needs", len(r.Needs), MaxNeeds) {
		for i, need := range r.Needs {
			path := fmt.Sprintf("/needs/%d", i)
			c.must(!isBlank(need.UserIntent) || !isBlank(need.ToolDescription) || !isBlank(need.ExpectedResponse), path, "", "must say something")
			c.text(path+"/user_intent", need.UserIntent, MaxNeedText)
			c.text(path+"/tool_description", need.ToolDescription, MaxNeedText)
			c.text(path+"/expected_response", need.ExpectedResponse, MaxNeedText)
		}
	}
	if c.count("/steps", len(r.Steps), MaxNeeds) {
		c.must(len(r.Steps) == 0 || len(r.Needs) == 0, "/steps", len(r.Steps), "must be absent if needs are given")
		for i, step := range r.Steps {
			path := fmt.Sprintf("/steps/%d", i)
			c.must(!isBlank(step), path, step, "must not be empty")
			c.text(path, step, MaxNeedText)
		}
	}
	c.must(len(r.Needs) > 0 || len(r.Steps) > 0 || !isBlank(r.Query), "/query", r.Query, "must not be empty")
	if c.count("/arguments", len(r.Arguments), MaxArguments) {
		for _, name := range sortedKeys(r.Arguments) {
			path := "/arguments/" + pointer(name)
			c.must(!isBlank(name) && len(name) <= MaxID, path, name, "must be named with 1 to %d bytes", MaxID)
			c.text(path, r.Arguments[name], MaxNeedText)
		}
	}
	c.text("/session", r.Session, MaxClient)
	c.text("/weights", r.Weights, MaxVersion)
	c.must(r.MinConfidence >= 0 && r.MinConfidence <= 1, "/min_confidence", r.MinConfidence, "must be from 0 to 1")
	c.texts("/filters/providers", r.Filters.Providers, MaxFilters, MaxID)
	c.texts("/filters/tags", r.Filters.Tags, MaxFilters, MaxID)
	c.texts("/filters/ids", r.Filters.IDs, MaxFilters, MaxID)
	if c.count("/filters/kinds", len(r.Filters.Kinds), MaxFilters) {
		for i, kind := range r.Filters.Kinds {
			c.add(kind.validate(fmt.Sprintf("/filters/kinds/%d", i)))
		}
	}
	r.Wanted.check(&c)
	c.texts("/exclude_flags", r.Exclude, MaxFilters, MaxID)
	return c.err
}

// Validate refuses unknown ways of reranking. An empty one is valid.
func (r Rerank) Validate() error {
	switch r {
	case "", RerankOff, RerankSingle, RerankMulti, RerankAuto:
		return nil
	}
	return invalid("/rerank", string(r), "must be %q, %q, %q or %q", RerankAuto, RerankOff, RerankSingle, RerankMulti)
}

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
)

// Normalize fills in what the request leaves to its default and checks the
// rest. It reports whether K was above MaxK and has been lowered to it. The
// error is an *Invalid; the request is then not to be answered.
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
	if err := checkText("/query", r.Query, MaxQuery); err != nil {
		return err
	}
	if r.Rank != RankTools && r.Rank != RankAgents && r.Rank != RankAuto {
		return invalid("/rank", string(r.Rank), "must be %q, %q or %q", RankTools, RankAgents, RankAuto)
	}
	if r.Rewrite != RewriteAuto && r.Rewrite != RewriteOff {
		return invalid("/rewrite", string(r.Rewrite), "must be %q or %q", RewriteAuto, RewriteOff)
	}
	if err := r.Rerank.Validate(); err != nil {
		return err
	}
	if err := checkNeeds(r.Needs); err != nil {
		return err
	}
	if err := checkSteps(r.Steps, r.Needs); err != nil {
		return err
	}
	if len(r.Needs) == 0 && len(r.Steps) == 0 && isBlank(r.Query) {
		return invalid("/query", r.Query, "must not be empty")
	}
	if err := checkArguments(r.Arguments); err != nil {
		return err
	}
	return r.Filters.validate()
}

// Validate refuses what is no way of reranking; none is one.
func (r Rerank) Validate() error {
	switch r {
	case "", RerankOff, RerankSingle, RerankMulti, RerankAuto:
		return nil
	}
	return invalid("/rerank", string(r), "must be %q, %q, %q or %q", RerankAuto, RerankOff, RerankSingle, RerankMulti)
}

func checkNeeds(needs []Need) error {
	if err := checkCount("/needs", len(needs), MaxNeeds); err != nil {
		return err
	}
	for i, need := range needs {
		path := fmt.Sprintf("/needs/%d", i)
		if isBlank(need.UserIntent) && isBlank(need.ToolDescription) && isBlank(need.ExpectedResponse) {
			return invalid(path, "", "must say something")
		}
		for _, text := range []struct{ name, value string }{
			{"user_intent", need.UserIntent},
			{"tool_description", need.ToolDescription},
			{"expected_response", need.ExpectedResponse},
		} {
			if err := checkText(path+"/"+text.name, text.value, MaxNeedText); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkSteps(steps []string, needs []Need) error {
	if err := checkCount("/steps", len(steps), MaxNeeds); err != nil {
		return err
	}
	if len(steps) > 0 && len(needs) > 0 {
		return invalid("/steps", steps[0], "must be absent where needs are given")
	}
	for i, step := range steps {
		path := fmt.Sprintf("/steps/%d", i)
		if isBlank(step) {
			return invalid(path, step, "must not be empty")
		}
		if err := checkText(path, step, MaxNeedText); err != nil {
			return err
		}
	}
	return nil
}

func checkArguments(arguments map[string]string) error {
	if err := checkCount("/arguments", len(arguments), MaxArguments); err != nil {
		return err
	}
	for _, name := range sortedKeys(arguments) {
		path := "/arguments/" + pointer(name)
		if isBlank(name) || len(name) > MaxID {
			return invalid(path, name, "must be named with 1 to %d bytes", MaxID)
		}
		if err := checkText(path, arguments[name], MaxNeedText); err != nil {
			return err
		}
	}
	return nil
}

func (f *Filters) validate() error {
	for _, list := range []struct {
		path   string
		values []string
	}{{"/filters/agents", f.Agents}, {"/filters/tags", f.Tags}, {"/filters/ids", f.IDs}} {
		if err := checkCount(list.path, len(list.values), MaxFilters); err != nil {
			return err
		}
		for i, value := range list.values {
			if err := checkText(fmt.Sprintf("%s/%d", list.path, i), value, MaxID); err != nil {
				return err
			}
		}
	}
	if err := checkCount("/filters/kinds", len(f.Kinds), MaxFilters); err != nil {
		return err
	}
	for i, kind := range f.Kinds {
		if err := kind.validate(fmt.Sprintf("/filters/kinds/%d", i)); err != nil {
			return err
		}
	}
	return nil
}

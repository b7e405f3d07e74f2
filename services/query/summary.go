package query

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

type (
	summaryInput struct {
		Limit int `query:"limit" default:"50" minimum:"1" maximum:"10000" doc:"Providers that are named, at most: 1 to 10000, 50 by default."`
	}
	summaryOutput struct{ Body CatalogueSummary }
)

// CatalogueSummary is how much a caller may find.
type CatalogueSummary struct {
	Tools     int            `json:"tools" doc:"How many tools there are."`
	Providers []ProviderSize `json:"providers" doc:"Those of most tools, first those that have the most."`
}

// ProviderSize is how many tools a provider has.
type ProviderSize struct {
	ID    string `json:"id"`
	Tools int    `json:"tools"`
}

func summaryRoutes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "summarize-catalogue", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/catalogue",
		Summary: "Count the tools that the caller may find, by provider", Tags: []string{"catalogue"}, Errors: []int{422, 503},
	}, func(ctx context.Context, in *summaryInput) (*summaryOutput, error) {
		summary, err := s.summarize(ctx, identity.From(ctx), in.Limit)
		return &summaryOutput{summary}, err
	})
}

// summarize counts the tools that a caller may find, and names the providers that have the
// most of them.
func (s *Service) summarize(ctx context.Context, caller identity.Caller, providers int) (CatalogueSummary, error) {
	scope, err := s.scope(ctx, caller)
	if err != nil {
		return CatalogueSummary{}, s.unknownGrants()
	}
	out := CatalogueSummary{}
	of := map[string]int{}
	for t := range s.Tools(caller.Tenant) {
		if t.Kind != schema.KindTool || !scope.Allows(&t) {
			continue
		}
		out.Tools++
		if t.Provider != "" {
			of[t.Provider]++
		}
	}
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) })
	out.Providers = make([]ProviderSize, 0, min(len(names), providers))
	for _, name := range names[:min(len(names), providers)] {
		out.Providers = append(out.Providers, ProviderSize{name, of[name]})
	}
	return out, nil
}

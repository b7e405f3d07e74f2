package weaviate

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/sourcegraph/conc/pool"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Replica is the local store of a query replica: it follows the same topic as
// the class and holds words and documents, but no vectors.
type Replica interface {
	// Candidates chooses by words alone.
	Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error)
	// Model returns the model that vectors come from, and their dimensions.
	Model() (name string, dimensions int)
	// Choose returns the best entities by words and the proposals, within the filters.
	Choose(ctx context.Context, l index.Lookup, proposed []schema.Ref) ([]schema.Ref, error)
	// ScoreCandidates chooses among the entities that the vectors belong to.
	ScoreCandidates(ctx context.Context, l index.Lookup, vectors map[schema.Ref]*events.Vectors) ([]index.Candidate, error)
	// Suppliers returns for each tool the tools that answer with its parameters.
	Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error)
	// Origins returns the origins of a tenant's tools, each once.
	Origins(tenant string) []index.Origin
	// Read returns a query with its unknown words read as words of the index.
	Read(ctx context.Context, tenant string, scope *policy.Scope, query string, known func(word string) bool) (string, []schema.Correction, error)
}

// vectorsOf are vectors by entity.
type vectorsOf = map[schema.Ref]*events.Vectors

// Search finds candidates: Weaviate proposes by vectors, the replica adds the
// best by words and filters, Weaviate gives the vectors of all these, and the replica
// scores and orders. It may be used concurrently.
type Search struct {
	client   *Client
	replica  Replica
	propose  func(context.Context, *index.Lookup) (vectorsOf, error) // asks Weaviate
	breaker  *gobreaker.CircuitBreaker[vectorsOf]
	log      *slog.Logger
	patience time.Duration // before the replica searches by words alone
	least    int           // proposals by each question, at least
}

// missing is the part that an answer without Weaviate goes without.
const missing = "index"

// NewSearch returns a search over the class of the model that the replica's
// vectors come from. The alias is for other clients of Weaviate.
func NewSearch(c *Client, r Replica, log *slog.Logger) *Search {
	const patience, least = 2 * time.Second, 50
	s := &Search{client: c, replica: r, breaker: newBreaker(patience, log), log: log, patience: patience, least: least}
	s.propose = s.chosen
	return s
}

// newBreaker leaves Weaviate alone for pause after a failure. Then one search
// tries again, and concurrent searches go on without Weaviate.
func newBreaker(pause time.Duration, log *slog.Logger) *gobreaker.CircuitBreaker[vectorsOf] {
	return gobreaker.NewCircuitBreaker[vectorsOf](gobreaker.Settings{
		Timeout:     pause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures > 0 },
		IsExcluded:  func(err error) bool { return errors.As(err, new(callerGone)) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateClosed {
				log.Info("weaviate: Weaviate answers again")
			}
		},
	})
}

// callerGone is the error of a search whose caller went away; it does not indicate a problem of
// Weaviate.
type callerGone struct{ error }

// Candidates returns the N best entities that the filters allow, best first, followed by the tools
// of Also. If Weaviate does not answer in time, the replica chooses by words, and the answer comes
// with an *index.Partial.
func (s *Search) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	vectors, err := s.breaker.Execute(func() (vectorsOf, error) {
		bounded, cancel := context.WithTimeout(ctx, s.share(ctx))
		defer cancel()
		vectors, err := s.propose(bounded, &l)
		if ctx.Err() != nil {
			return nil, callerGone{ctx.Err()}
		}
		if err != nil && s.breaker.State() == gobreaker.StateClosed {
			s.log.Warn("weaviate: searches go by words alone until Weaviate answers in time", "err", err)
		}
		return vectors, err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		return s.replica.ScoreCandidates(ctx, l, vectors)
	}
	found, local := s.replica.Candidates(ctx, l)
	if local != nil {
		return nil, errors.Join(err, local)
	}
	return found, &index.Partial{Without: missing, Err: err}
}

// share is how long a search waits for Weaviate: for half of its time at most, so
// that the replica can answer in the other half.
func (s *Search) share(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(s.patience, time.Until(deadline)/2)
	}
	return s.patience
}

// Suppliers returns for each tool the tools that answer with its required parameters.
func (s *Search) Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error) {
	return s.replica.Suppliers(ctx, tenant, tools)
}

// Read returns a query with its unknown words read as words of the index.
func (s *Search) Read(ctx context.Context, tenant string, scope *policy.Scope, query string, known func(word string) bool) (string, []schema.Correction, error) {
	return s.replica.Read(ctx, tenant, scope, query, known)
}

// chosen returns the entities that are worth exact scores, with their vectors.
func (s *Search) chosen(ctx context.Context, l *index.Lookup) (vectorsOf, error) {
	name, dimensions := s.replica.Model()
	model := Model{Name: name, Dimensions: dimensions}
	var proposed []schema.Ref
	var err error
	if l.N > 0 {
		if proposed, err = s.proposals(ctx, model, l); err != nil {
			return nil, err
		}
	}
	refs, err := s.replica.Choose(ctx, *l, proposed)
	if err != nil {
		return nil, err
	}
	out := make(vectorsOf, len(refs))
	byID := make(map[string]*events.Vectors, len(refs))
	for _, ref := range refs {
		out[ref] = &events.Vectors{Dimensions: dimensions} // Weaviate may not have them yet
		byID[idOf(ref)] = out[ref]
	}
	ids := slices.Collect(maps.Keys(byID))
	for page := range slices.Chunk(ids, 500) {
		found, err := s.find(ctx, &pb.SearchRequest{
			Collection: s.client.ClassOf(model), Tenant: l.Tenant, Limit: uint32(len(page)), Filters: anyOf("_id", page),
			Metadata: &pb.MetadataRequest{Vectors: vectorNames()},
		})
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			if err := decodeVectors(byID[r.GetMetadata().GetId()], r.GetMetadata().GetVectors()); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// proposals asks all questions at once and returns the entities that any of them found, each once.
func (s *Search) proposals(ctx context.Context, m Model, l *index.Lookup) ([]schema.Ref, error) {
	class := s.client.ClassOf(m)
	questions, err := ask(l, m.Dimensions)
	if err != nil {
		return nil, err
	}
	filters, limit := filter(l, s.callable(l)), s.limit(l)
	group := pool.NewWithResults[[]*pb.SearchResult]().WithContext(ctx).WithCancelOnError().WithFirstError()
	for _, near := range questions {
		group.Go(func(ctx context.Context) ([]*pb.SearchResult, error) {
			return s.find(ctx, &pb.SearchRequest{
				Collection: class, Tenant: l.Tenant, Limit: limit,
				NearVector: near, Filters: filters, Properties: &pb.PropertiesRequest{NonRefProperties: []string{propKind, propKey}},
			})
		})
	}
	found, err := group.Wait()
	return union(l.Tenant, found), err
}

// find asks for objects. A tenant without any write has no objects. If there is such a tenant
// after a failure, its first write may have come after the question, so find asks again.
func (s *Search) find(ctx context.Context, r *pb.SearchRequest) ([]*pb.SearchResult, error) {
	found, err := s.client.find(ctx, r)
	if err == nil {
		return found, nil
	}
	there, failed := s.client.schema.TenantsExists().WithClassName(r.Collection).WithTenant(r.Tenant).Do(ctx)
	switch {
	case failed != nil:
		return nil, err
	case !there:
		return nil, nil
	}
	return s.client.find(ctx, r)
}

// limit is how many each question asks for: half of the wanted candidates, since
// the other questions and the words propose others. More would cost: Weaviate walks further
// through the graph, and refuses too large limits.
func (s *Search) limit(l *index.Lookup) uint32 {
	most := max(s.least, l.N/2)
	if s := l.Scope; s != nil && (!s.Allow.All && s.Allow.Len() > mostAllowed || s.Deny.Len() > mostDenied) || l.Calls != nil || l.Withheld {
		most *= moreOfMany
	}
	return uint32(min(most, maxProposals))
}

// callable returns names in propGrantable that all tools have that a lookup may choose, and some
// others: the replica decides about each. It returns nil if it has no names for all of them.
func (s *Search) callable(l *index.Lookup) []string {
	if l.Calls == nil || l.Withheld {
		return nil
	}
	names := map[string]bool{noGrant: true}
	for _, o := range s.replica.Origins(l.Tenant) {
		if !l.Calls.Of(o) {
			continue
		}
		of := policy.Tool{Provider: o.Provider, Source: o.From}.Names()
		if len(of) == 0 {
			return nil
		}
		for _, name := range of {
			names[name] = true
		}
	}
	return slices.Collect(maps.Keys(names))
}

// moreOfMany is the factor of additional proposals if Weaviate gets only a part of the filters, so that
// many of them may be filtered out.
const moreOfMany = 8

// maxProposals is Weaviate's own bound on results, unless it is set up otherwise
// (QUERY_MAXIMUM_RESULTS).
const maxProposals = 10_000

func union(tenant string, found [][]*pb.SearchResult) []schema.Ref {
	seen := map[schema.Ref]bool{}
	var out []schema.Ref
	for _, results := range found {
		for _, r := range results {
			f := r.GetProperties().GetNonRefProps().GetFields()
			ref := schema.Ref{Tenant: tenant, Kind: schema.Kind(f[propKind].GetTextValue()), ID: f[propKey].GetTextValue()}
			if !seen[ref] {
				seen[ref] = true
				out = append(out, ref)
			}
		}
	}
	return out
}

// ask returns the dense questions of a lookup with a weight: each text against each of its fields,
// each pair once. Entities that lack a field are scored by their name, so the
// text asks names too. Texts of other dimensions match nothing.
func ask(l *index.Lookup, dimensions int) ([]*pb.NearVector, error) {
	a := asker{dimensions: dimensions}
	query := l.Probe.Query.Vector
	a.add(l.Model.Features[fusion.QueryDenseName], vectorName, query)
	a.add(l.Model.Features[fusion.QueryDenseFlat], vectorFlat, query)
	a.add(l.Model.Features[fusion.QueryDenseDescription], vectorDescription, query)
	a.add(l.Model.Features[fusion.QueryDenseResponse], vectorResponse, query)
	a.add(l.Model.Features[fusion.QueryDenseExamples], vectorExamples, query)
	a.add(l.Model.Features[fusion.QueryDenseParameters], vectorParameters, query)
	arguments := make([][]float32, len(l.Probe.Arguments))
	for n := range arguments {
		arguments[n] = l.Probe.Arguments[n].Text.Vector
	}
	a.addList(l.Model.Features[fusion.NeedsDenseParameters], vectorParameters, arguments)
	for n := range l.Probe.Needs {
		need := &l.Probe.Needs[n]
		if len(arguments) > 0 {
			a.addList(l.Model.Features[fusion.NeedsDenseParameters], vectorName, [][]float32{need.Whole.Vector})
		}
		a.add(l.Model.Features[fusion.NeedsDenseName], vectorName, need.Whole.Vector)
		a.add(l.Model.Features[fusion.NeedsDenseFlat], vectorFlat, need.Whole.Vector)
		a.add(l.Model.Features[fusion.NeedsDenseDescription], vectorDescription, need.Description.Vector)
		a.add(l.Model.Features[fusion.NeedsDenseResponse], vectorResponse, need.Response.Vector)
		a.add(l.Model.Features[fusion.NeedsDenseExamples], vectorExamples, need.Examples.Vector)
	}
	return a.questions, a.err
}

// asker collects questions.
type asker struct {
	dimensions int
	questions  []*pb.NearVector
	asked      []question
	err        error
}

type question struct {
	field   string
	vectors [][]float32
}

// add asks a field, and names, for one text.
func (a *asker) add(weight float64, field string, vector []float32) {
	a.addList(weight, field, [][]float32{vector})
	if field != vectorName {
		a.addList(weight, vectorName, [][]float32{vector})
	}
}

// addList asks a field for several texts at once, if there are any and it has a
// weight.
func (a *asker) addList(weight float64, field string, vectors [][]float32) {
	vectors = slices.DeleteFunc(vectors, func(v []float32) bool { return len(v) == 0 || len(v) != a.dimensions })
	same := func(q question) bool {
		return q.field == field && slices.EqualFunc(q.vectors, vectors, slices.Equal)
	}
	if weight == 0 || len(vectors) == 0 || a.err != nil || slices.ContainsFunc(a.asked, same) {
		return
	}
	a.asked = append(a.asked, question{field, vectors})
	q := near(field, vectors[0])
	if isList(field) {
		q, a.err = nearList(field, vectors)
	}
	a.questions = append(a.questions, q)
}

// addAll asks for the vectors of an entity in their own fields: of a list, for up to n of them.
func (a *asker) addAll(v *events.Vectors, n int) {
	a.addList(1, vectorName, [][]float32{v.Name})
	a.addList(1, vectorFlat, [][]float32{v.Flat})
	a.addList(1, vectorDescription, [][]float32{v.Description})
	a.addList(1, vectorResponse, [][]float32{v.Response})
	a.addList(1, vectorExamples, plain(v.Examples[:min(n, len(v.Examples))]))
	a.addList(1, vectorParameters, plain(v.Parameters[:min(n, len(v.Parameters))]))
}

// filter returns the filter of a lookup, nil for everything. The replica filters too: Weaviate's
// proposals may have changed since.
func filter(l *index.Lookup, callable []string) *pb.Filters {
	var all []*pb.Filters
	some := func(property string, values []string) {
		if len(values) > 0 {
			all = append(all, anyOf(property, values))
		}
	}
	some(propKind, kinds(l))
	if l.Withheld { // Weaviate cannot turn the others around
		return together(append(all, inScope(l.Scope)...))
	}
	if len(callable) <= mostAllowed {
		some(propGrantable, callable)
	}
	if owners := l.Filters.Providers; len(owners) > 0 {
		all = append(all, &pb.Filters{Operator: pb.Filters_OPERATOR_OR, Filters: []*pb.Filters{
			anyOf(propProvider, owners), anyOf(propKey, owners), // a provider is among its own
		}})
	}
	some(propTags, l.Filters.Tags)
	some(propKey, l.Filters.IDs)
	return together(append(all, inScope(l.Scope)...))
}

// together returns the conjunction of filters, nil for everything.
func together(all []*pb.Filters) *pb.Filters {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &pb.Filters{Operator: pb.Filters_OPERATOR_AND, Filters: all}
}

// inScope returns the filters of a scope.
func inScope(s *policy.Scope) []*pb.Filters {
	if s == nil {
		return nil
	}
	var all []*pb.Filters
	if s.Deny.All {
		all = append(all, anyOf(propKind, []string{kindFence})) // nothing: no vector is a fence's
	}
	if !s.Allow.All && s.Allow.Len() <= mostAllowed {
		all = append(all, anyOf(propGrantable, append(s.Allow.Names(), noGrant)))
	}
	if s.Deny.Len() > mostDenied {
		return all
	}
	for _, name := range s.Deny.Names() {
		all = append(all, &pb.Filters{
			Operator:  pb.Filters_OPERATOR_NOT_EQUAL,
			Target:    &pb.FilterTarget{Target: &pb.FilterTarget_Property{Property: propGrantable}},
			TestValue: &pb.Filters_ValueText{ValueText: name},
		})
	}
	return all
}

// Above these numbers of names the filter omits them, since each costs Weaviate time: 1,000 of
// either take the better part of a second. The replica removes proposals outside the scope in any
// case.
const (
	mostAllowed = 200
	mostDenied  = 50
)

// noGrant is a value for a filter that needs one: grants have other names.
const noGrant = "-"

// anyOf matches objects with any of the values in a property.
func anyOf(property string, values []string) *pb.Filters {
	return &pb.Filters{
		Operator:  pb.Filters_OPERATOR_CONTAINS_ANY,
		Target:    &pb.FilterTarget{Target: &pb.FilterTarget_Property{Property: property}},
		TestValue: &pb.Filters_ValueTextArray{ValueTextArray: &pb.TextArray{Values: values}},
	}
}

// kinds returns the kinds that a lookup admits, or nil if it admits all.
func kinds(l *index.Lookup) []string {
	var out []string
	all := []schema.Kind{schema.KindTool, schema.KindProvider}
	for _, kind := range all {
		if admits(l.Kinds, kind) && admits(l.Filters.Kinds, kind) {
			out = append(out, string(kind))
		}
	}
	if len(out) == len(all) {
		return nil
	}
	if len(out) == 0 {
		return []string{kindFence} // nothing: no vector is a fence's
	}
	return out
}

func admits(kinds []schema.Kind, kind schema.Kind) bool {
	return len(kinds) == 0 || slices.Contains(kinds, kind)
}

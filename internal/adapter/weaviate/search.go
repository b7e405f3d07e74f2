package weaviate

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Replica is the local store of a query replica: it follows the same topic as
// the class and holds words, documents and exact vectors.
type Replica interface {
	// Candidates chooses by itself, by words and vectors.
	Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error)
	// Model returns the model that its vectors come from, and their dimensions.
	Model() (name string, dimensions int)
	// Judge chooses among the best by words and what is proposed.
	Judge(ctx context.Context, l index.Lookup, proposed []schema.Ref) ([]index.Candidate, error)
	// Suppliers returns for each tool those that answer with what it takes.
	Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error)
}

// Search finds candidates: Weaviate proposes by vectors, the replica adds the
// best by words, filters, scores and orders. It may be used concurrently.
type Search struct {
	client  *Client
	replica Replica
	log     *slog.Logger
	away    atomic.Pointer[absence]
}

// absence is what became of the last search in Weaviate, if it failed.
type absence struct {
	err   error
	again time.Time // when it is asked again
}

// missing is what an answer calls Weaviate where it did not answer.
const missing = "index"

// NewSearch returns a search over the class of the model that the replica's
// vectors come from. The alias is for those who look at Weaviate from outside.
func NewSearch(c *Client, r Replica, log *slog.Logger) (*Search, error) {
	if c == nil || r == nil || log == nil {
		return nil, errors.New("weaviate: a search needs a client, a replica and a logger")
	}
	return &Search{client: c, replica: r, log: log}, nil
}

// Candidates returns the N best entities that the filters allow, best first, and
// the tools of Also behind them, as the replica by itself does; but vectors are
// searched in Weaviate. Where Weaviate does not answer in time, the replica
// searches them: that answer comes with an *index.Partial, and so do those of
// the time in which Weaviate is left alone.
func (s *Search) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	if l.N <= 0 {
		return s.replica.Candidates(ctx, l)
	}
	proposed, err := s.proposeInTime(ctx, &l)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		return s.replica.Judge(ctx, l, proposed)
	}
	found, local := s.replica.Candidates(ctx, l)
	if local != nil {
		return nil, errors.Join(err, local)
	}
	return found, &index.Partial{Without: missing, Err: err}
}

// proposeInTime asks Weaviate, unless it has just failed to answer.
func (s *Search) proposeInTime(ctx context.Context, l *index.Lookup) ([]schema.Ref, error) {
	away := s.away.Load()
	if away != nil && time.Now().Before(away.again) {
		return nil, away.err
	}
	patience := s.client.config.Patience
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	proposed, err := s.propose(bounded, l)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err() // the caller's end says nothing of Weaviate
	case err != nil:
		s.away.Store(&absence{err: err, again: time.Now().Add(patience)})
	case away != nil:
		s.away.Store(nil)
	}
	switch {
	case err != nil && away == nil:
		s.log.WarnContext(ctx, "weaviate: no vectors are found in time, searches go by the replica's own index", "error", err)
	case err == nil && away != nil:
		s.log.InfoContext(ctx, "weaviate: vectors are found again")
	}
	return proposed, err
}

// Suppliers returns for each tool the tools that answer with what it requires.
func (s *Search) Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error) {
	return s.replica.Suppliers(ctx, tenant, tools)
}

// propose asks all questions at once and returns what any of them found, each
// entity once.
func (s *Search) propose(ctx context.Context, l *index.Lookup) ([]schema.Ref, error) {
	name, dimensions := s.replica.Model()
	class := s.client.ClassOf(Model{Name: name, Dimensions: dimensions})
	questions, err := ask(l, dimensions)
	if err != nil {
		return nil, err
	}
	filters := filter(l)
	found := make([][]*pb.SearchResult, len(questions))
	errs := make([]error, len(questions))
	var wg sync.WaitGroup
	for n, near := range questions {
		wg.Go(func() {
			found[n], errs[n] = s.client.find(ctx, &pb.SearchRequest{
				Collection: class, Tenant: l.Tenant, Limit: s.proposals(l),
				NearVector: near, Filters: filters, Properties: &pb.PropertiesRequest{NonRefProperties: []string{propKind, propKey}},
			})
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !noTenant(err) {
			return nil, err
		}
	}
	return union(l.Tenant, found), nil
}

// proposals is how many each question asks for: half of what is wanted, since the
// other questions and the words propose others. What is asked for costs: Weaviate
// walks further through the graph for more, and refuses who asks for too much.
func (s *Search) proposals(l *index.Lookup) uint32 {
	return uint32(min(max(s.client.config.Limit, l.N/2), maxProposals))
}

// maxProposals is Weaviate's own bound on results, unless it is set up otherwise
// (QUERY_MAXIMUM_RESULTS).
const maxProposals = 10_000

func union(tenant string, found [][]*pb.SearchResult) []schema.Ref {
	seen := map[schema.Ref]bool{}
	var out []schema.Ref
	for _, results := range found {
		for _, r := range results {
			if isNote(r) {
				continue
			}
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

// ask returns the dense questions of a lookup that have a weight: each text
// against each field that it speaks to, each pair of them once. What lacks a field
// is scored by its name there, so the text asks names too. Texts of other
// dimensions are like nothing.
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

// filter returns what Weaviate is to choose among, nil for everything. The
// replica filters too: what is proposed here may have changed since.
func filter(l *index.Lookup) *pb.Filters {
	var all []*pb.Filters
	some := func(property string, values []string) {
		if len(values) > 0 {
			all = append(all, anyOf(property, values))
		}
	}
	some(propKind, kinds(l))
	if owners := l.Filters.Agents; len(owners) > 0 {
		all = append(all, either(anyOf(propAgent, owners), anyOf(propKey, owners))) // an agent is among its own
	}
	some(propTags, l.Filters.Tags)
	some(propKey, l.Filters.IDs)
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &pb.Filters{Operator: pb.Filters_OPERATOR_AND, Filters: all}
}

func either(filters ...*pb.Filters) *pb.Filters {
	return &pb.Filters{Operator: pb.Filters_OPERATOR_OR, Filters: filters}
}

// kinds returns the kinds that a lookup admits, none where it admits all.
func kinds(l *index.Lookup) []string {
	var out []string
	all := []schema.Kind{schema.KindTool, schema.KindAgent}
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

package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/asked"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Keys of the store that is watched: a prefix, then the tenant; of weights the
// tenant and the embedding model, as schema.ModelOwner names them.
const (
	weightsPrefix = "weights.live."
	usagePrefix   = "usage."
)

// maxAlso bounds the tools that take part in every search for being used.
const maxAlso = 200

// maxAlike bounds the tools that take part in a search for having been used for
// one like it.
const maxAlike = 50

// newModels returns the live fusion models: none until one arrives.
func newModels(log *slog.Logger, m *metrics) *live[*fusion.Model] {
	return &live[*fusion.Model]{what: "weights", prefix: weightsPrefix, decode: decodeWeights, log: log, metrics: m}
}

// modelOf returns what a tenant's searches rank by in a view: what was learned
// with its embedding model, else the built-in weights of that. Weights under the
// tenant's name alone are from before models were told apart: the trainer takes
// them away once it knows whose they are.
func (s *Service) modelOf(v *serving, tenant string) *fusion.Model {
	return s.models.of(v.builtin, schema.ModelOwner(tenant, v.Model), tenant)
}

func decodeWeights(_ string, value []byte) (*fusion.Model, uint64, error) {
	var w schema.Weights
	if err := json.Unmarshal(value, &w); err != nil {
		return nil, 0, fmt.Errorf("decode weights: %w", err)
	}
	model, err := fusion.ModelOf(w)
	return &model, w.Epoch, err
}

// WeightsVersion names the weights that searches of a tenant rank by.
func (s *Service) WeightsVersion(tenant string) string {
	return s.modelOf(s.now.Load(), tenant).Version
}

// Refused says of a tenant's weights and usage in the store why they can not
// serve: the last good ones do.
func (s *Service) Refused(tenant string) []string {
	owner := schema.ModelOwner(tenant, s.now.Load().Model)
	why := s.models.refused(slices.Compact([]string{owner, tenant})...)
	return append(append(why, s.shadows.refused(owner)...), s.usage.refused(tenant)...)
}

// Usable says why a value of the store can not serve under its key, nil where it
// can.
func Usable(key string, value []byte) error {
	var err error
	if tenant, ok := strings.CutPrefix(key, weightsPrefix); ok {
		_, _, err = decodeWeights(tenant, value)
	} else if tenant, ok := strings.CutPrefix(key, shadowPrefix); ok {
		_, _, err = decodeWeights(tenant, value)
	} else if tenant, ok := strings.CutPrefix(key, usagePrefix); ok {
		_, _, err = decodeUsage(tenant, value)
	}
	return err
}

// newUsage returns the live usage tables: none until one arrives.
func newUsage(log *slog.Logger, m *metrics) *live[*usage] {
	return &live[*usage]{what: "usage", prefix: usagePrefix, decode: decodeUsage, log: log, metrics: m}
}

func decodeUsage(tenant string, value []byte) (*usage, uint64, error) {
	var table schema.Usage
	if err := json.Unmarshal(value, &table); err != nil {
		return nil, 0, fmt.Errorf("decode usage: %w", err)
	}
	if err := table.Validate(); err != nil {
		return nil, 0, err
	}
	if table.Tenant != tenant {
		return nil, 0, fmt.Errorf("usage of tenant %q under the key of %q", table.Tenant, tenant)
	}
	u := usageOf(table)
	if table.Single != nil {
		single, err := rerank.ClassifierOf(*table.Single)
		if err != nil {
			return nil, 0, err
		}
		u.single = &single
	}
	return u, table.Epoch, nil
}

// usage is what feedback says of a tenant's tools.
type usage struct {
	table schema.Usage
	top   []string                // the most used tools, most used first
	asked map[string]*asked.Table // what they were used for, by embedding model

	asks   *asked.Table                  // the questions of which it is known what came of them, each under its number
	came   map[string]map[string]float64 // what that is, by number and tool
	single *rerank.Classifier            // nil: nothing is learned of it
}

// classifier tells which queries one owner answers.
func (u *usage) classifier() rerank.Classifier {
	if u.single == nil {
		return rerank.ColdStart()
	}
	return *u.single
}

func usageOf(table schema.Usage) *usage {
	u := &usage{table: table, top: mostUsed(table.Prior), asked: map[string]*asked.Table{}, came: map[string]map[string]float64{}}
	for _, other := range table.Others {
		u.asked[other.Model] = asked.NewTable(other.Tools)
	}
	u.asked[table.Model] = asked.NewTable(table.Asked)
	questions := map[string][]schema.Direction{}
	for i, c := range table.Came {
		number := strconv.Itoa(i)
		questions[number], u.came[number] = []schema.Direction{c.Query}, c.Tools
	}
	u.asks = asked.NewTable(questions)
	u.table.Asked, u.table.Others, u.table.Came = nil, nil, nil // in asked and came, in another form
	return u
}

func mostUsed(prior map[string]float64) []string {
	ids := slices.SortedFunc(maps.Keys(prior), func(a, b string) int {
		return cmp.Or(cmp.Compare(prior[b], prior[a]), cmp.Compare(a, b))
	})
	return ids[:min(len(ids), maxAlso)]
}

// by returns the usage as a query with that vector, of that embedding model, sees
// it; the vector is empty if the query could not be embedded. What was asked by
// other models can not be compared with it. Of usage that is withheld is left what came
// of the same question.
func (u *usage) by(model string, query []float32) uses {
	out := uses{}
	if !u.table.Withheld {
		out.prior, out.coUse, out.top = u.table.Prior, u.table.CoUse, u.top
		out.similar = u.asked[model].Similar(query)
	}
	if model == u.table.Model {
		out.came = u.came[u.asks.Same(query)]
	}
	return out
}

// uses is the usage as one query sees it: a ranking.Uses.
type uses struct {
	prior   map[string]float64 // as schema.Usage has them
	coUse   map[string]map[string]float64
	top     []string           // the most used tools, most used first
	similar map[string]float64 // by tool, how much alike the nearest query is that it was used for
	came    map[string]float64 // by tool, what came of searches for the same
}

// Prior returns log(1 + uses) of a tool.
func (u uses) Prior(tool string) float64 { return u.prior[tool] }

// Similar returns how much alike the nearest query is that the tool was used for.
func (u uses) Similar(tool string) float64 { return u.similar[tool] }

// Came returns what came of searches for the same, as log odds of a tool.
func (u uses) Came(tool string) float64 { return u.came[tool] }

// alike returns the tools that were used for the queries most like this one,
// most like it first, and those that were used where the same was asked, surely or not.
func (u uses) alike() []string {
	var ids []string
	for id := range u.similar {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(u.similar[b], u.similar[a]), cmp.Compare(a, b)) })
	ids = ids[:min(len(ids), maxAlike)]
	for _, id := range slices.Sorted(maps.Keys(u.came)) {
		if u.came[id] > 0 && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// CoUse returns how often the tool is to be expected to be used together with
// those of front but itself: the sum of the shares of each one's uses in which
// it was. Half a use more for each keeps a single one from deciding.
func (u uses) CoUse(tool string, front []string) float64 {
	var shares float64
	for _, other := range front {
		if together := u.coUse[other][tool]; together > 0 && other != tool {
			uses := max(together, u.prior[other]) // a full table may lack the prior
			shares += math.Expm1(together) / (math.Expm1(uses) + 0.5)
		}
	}
	return shares
}

package ranking

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// uses are uses by tool, and by front runner the shares that were together with
// another tool.
type uses struct {
	prior, similar, came map[string]float64
	together             map[string]map[string]float64
}

func (u uses) Prior(tool string) float64   { return u.prior[tool] }
func (u uses) Similar(tool string) float64 { return u.similar[tool] }

func (u uses) ClickLogOdds(tool string) float64 { return u.came[tool] }
func (u uses) CoUse(tool string, front []string) (sum float64) {
	for _, other := range front {
		if other != tool {
			sum += u.together[other][tool]
		}
	}
	return sum
}

func entity(kind schema.Kind, id, owner string, words float64) index.Candidate {
	c := index.Candidate{Ref: schema.Ref{Tenant: "t", Kind: kind, ID: id}, Provider: owner}
	c.Features[fusion.QueryLexicalFlat] = words
	return c
}

func tool(id, owner string, words float64) index.Candidate {
	return entity(schema.KindTool, id, owner, words)
}

// model weighs words by one, so that they are the scores that relations begin
// with, and everything else so that it shows.
func model() *fusion.Model {
	m := &fusion.Model{}
	m.Features[fusion.QueryLexicalFlat] = 1
	m.Features[fusion.UsagePrior], m.Features[fusion.UsageSimilar] = 1, 2
	m.Features[fusion.UsageCoUse], m.Features[fusion.RelatedOwner], m.Features[fusion.RelatedSupply] = 10, 4, 3
	return m
}

func refs(rs []Ranked) (out []string) {
	for _, r := range rs {
		out = append(out, string(r.Kind)+" "+r.ID)
	}
	return out
}

// What cannot be called stands behind what can and fits about as well, whatever the
// scale of scores.
func TestToolsWithMissingParametersGiveWay(t *testing.T) {
	builtin := check.Value(fusion.ModelOf(fusion.Builtin()))(t)
	for _, scale := range []float64{0.1, 1, 1000} {
		fits := tool("fits", "", 10*scale)
		fits.Matches = []schema.Match{{Score: 0.9, Required: true}, {Score: 0.05, Required: true}}
		callable, worse := tool("callable", "", 8*scale), tool("worse", "", 7*scale)
		callable.Matches = []schema.Match{{Score: 0.9, Required: true}, {Score: 0}}
		got := refs(Rank([]index.Candidate{fits, callable, worse}, &builtin, Signals{}))
		if !slices.Equal(got, []string{"tool callable", "tool fits", "tool worse"}) {
			t.Errorf("scores of some %v: %v", 10*scale, got)
		}
	}
}

// Every relation, worked by hand. By words and uses alone stand: send 8,
// post 6 + 2·.5, orphan 4, read 2 + 1, the provider mail 1, token 0. So the front
// are all five tools, and 8 is the best score of all.
func TestEveryRelation(t *testing.T) {
	candidates := []index.Candidate{
		tool("token", "", 0), tool("orphan", "", 4), tool("read", "mail", 2),
		entity(schema.KindProvider, "mail", "", 1), tool("post", "chat", 6), tool("send", "mail", 8),
	}
	k := Signals{
		Usage: uses{
			prior: map[string]float64{"read": 1}, similar: map[string]float64{"post": 0.5},
			together: map[string]map[string]float64{"send": {"read": 0.5}, "orphan": {"read": 0.25}, "token": {"token": 9}},
		},
		Suppliers: Suppliers{
			"send": {{ID: "token", Share: 1}}, "post": {{ID: "orphan", Share: 0.25}, {ID: "token", Share: 0.25}},
			"token": {{ID: "not among them", Share: 1}},
		},
	}
	ranked := Rank(candidates, model(), k)
	for place, want := range []struct {
		ref                                  string
		prior, similar, coUse, owner, supply float64
		score                                float64
	}{
		{ref: "tool read", prior: 1, coUse: 0.75, owner: 1, score: 2 + 1 + 7.5 + 4},
		{ref: "tool send", owner: 1, score: 8 + 4},
		{ref: "tool post", similar: 0.5, owner: 7. / 8, score: 6 + 2*0.5 + 4*7./8},
		{ref: "tool orphan", owner: 4. / 8, supply: 0.25 * 3. / 8 / 5, score: 4 + 4*4./8 + 3*0.25*3./8/5},
		{ref: "provider mail", owner: 1, score: 1 + 4},
		{ref: "tool token", supply: (1 + 0.25*7./8) / 5, score: 3 * (1 + 0.25*7./8) / 5},
	} {
		got := ranked[place]
		f := fusion.Features{
			fusion.QueryLexicalFlat: got.Features[fusion.QueryLexicalFlat],
			fusion.UsagePrior:       want.prior, fusion.UsageSimilar: want.similar, fusion.UsageCoUse: want.coUse,
			fusion.RelatedOwner: want.owner, fusion.RelatedSupply: want.supply,
		}
		if math.Abs(got.Features[fusion.RelatedSupply]-want.supply) < 1e-12 {
			f[fusion.RelatedSupply] = got.Features[fusion.RelatedSupply] // rounded another way
		}
		if refs(ranked)[place] != want.ref || got.Features != f || math.Abs(got.Score-want.score) > 1e-12 {
			t.Errorf("place %d: %s with %v at %v, want %s with %v at %v",
				place, refs(ranked)[place], got.Features.ByName(), got.Score, want.ref, f.ByName(), want.score)
		}
	}
}

// What comes in with the candidates counts for nothing, whoever set it.
func TestUnknownSignalsAreZero(t *testing.T) {
	for name, c := range map[string]struct {
		words float64
		owner string
		want  float64 // of RelatedOwner
	}{
		"nobody has an owner":     {3, "", 0},
		"nothing has any score":   {0, "mail", 0},
		"all scores are negative": {-2, "mail", 0},
		"an owner":                {3, "mail", 1},
	} {
		stale := tool("a", c.owner, c.words)
		known := []fusion.Feature{fusion.UsagePrior, fusion.UsageSimilar, fusion.UsageCoUse, fusion.RelatedOwner, fusion.RelatedSupply, fusion.RelatedNeed}
		for _, f := range known {
			stale.Features[f] = 7
		}
		want := fusion.Features{fusion.QueryLexicalFlat: c.words, fusion.RelatedOwner: c.want}
		for what, k := range map[string]Signals{"nothing": {}, "nothing of it": {Usage: uses{}, Suppliers: Suppliers{}}} {
			if got := Rank([]index.Candidate{stale}, model(), k)[0].Features; got != want {
				t.Errorf("%s, known is %s: %v, want %v", name, what, got.ByName(), want.ByName())
			}
		}
		if stale.Features[fusion.UsagePrior] != 7 {
			t.Error("the caller's candidate is changed")
		}
	}
}

// A tool and a provider may have one id: uses and supplies are the tool's.
func TestAProviderIsNotTheToolOfItsName(t *testing.T) {
	candidates := []index.Candidate{entity(schema.KindProvider, "same", "", 5), tool("same", "", 5), tool("taker", "same", 9)}
	ranked := Rank(candidates, model(), Signals{
		Usage:     uses{prior: map[string]float64{"same": 1}, similar: map[string]float64{"same": 1}, together: map[string]map[string]float64{"taker": {"same": 1}}},
		Suppliers: Suppliers{"taker": {{ID: "same", Share: 1}}},
	})
	if got, want := refs(ranked), []string{"tool same", "tool taker", "provider same"}; !slices.Equal(got, want) {
		t.Fatalf("ranked %v, want %v", got, want)
	}
	provider := fusion.Features{fusion.QueryLexicalFlat: 5, fusion.RelatedOwner: 1} // it owns the taker
	if ranked[2].Features != provider {
		t.Errorf("the provider has %v", ranked[2].Features.ByName())
	}
	equal := Rank([]index.Candidate{entity(schema.KindProvider, "b", "", 1), tool("a", "", 1), tool("b", "", 1)}, &fusion.Model{}, Signals{})
	if got, want := refs(equal), []string{"tool b", "provider b", "tool a"}; !slices.Equal(got, want) {
		t.Errorf("equal scores stand as %v, want %v", got, want)
	}
}

func TestFrontIgnoresRelations(t *testing.T) {
	candidates := []index.Candidate{entity(schema.KindProvider, "provider", "", 9), tool("d", "", 1), tool("b", "", 3), tool("c", "", 3), tool("a", "rich", 2)}
	for _, f := range []fusion.Feature{fusion.UsageCoUse, fusion.RelatedOwner, fusion.RelatedSupply, fusion.RelatedNeed} {
		candidates[1].Features[f] = 100
	}
	candidates = append(candidates, tool("unsound", "", math.Inf(1)), tool("no number", "", math.NaN()))
	for n, want := range [][]string{{}, {"c"}, {"c", "b"}, {"c", "b", "a"}, {"c", "b", "a", "d"}, {"c", "b", "a", "d"}} {
		if got := Front(candidates, model(), nil, n); !slices.Equal(got, want) {
			t.Errorf("the first %d are %v, want %v", n, got, want)
		}
	}
	used := uses{prior: map[string]float64{"d": 5}, together: map[string]map[string]float64{"b": {"a": 50}}}
	if got, want := Front(candidates, model(), used, 2), []string{"d", "c"}; !slices.Equal(got, want) {
		t.Errorf("by their uses the first are %v, want %v", got, want)
	}
}

// The best answer to a need that is put in few words counts like the best of all, which
// scores 8 here.
func TestEveryNeedCountsAlike(t *testing.T) {
	found := func(needs ...[]float64) (got []float64) {
		candidates := make([]index.Candidate, len(needs))
		for i := range needs {
			candidates[i] = tool(fmt.Sprint(i), "", float64(8-i))
			candidates[i].Needs = needs[i]
		}
		for _, f := range Features(candidates, model(), Signals{}) {
			got = append(got, f[fusion.RelatedNeed])
		}
		return got
	}
	for name, c := range map[string]struct {
		needs [][]float64
		want  []float64
	}{
		"two needs":              {[][]float64{{6, 0}, {3, 1}, {-2, 2}, nil}, []float64{8, 4, 8, 0}},
		"one need":               {[][]float64{{6}, {3}}, []float64{0, 0}},
		"a need without answers": {[][]float64{{6, -1}, {3, -2}, {-3, -3}}, []float64{8, 4, 0}},
	} {
		if got := found(c.needs...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestOnlyTheFrontIsSupplied(t *testing.T) {
	candidates, lists := []index.Candidate{tool("helper", "", 0)}, map[string][]index.Supplier{}
	for i := range fusion.Supplied + 3 {
		id := fmt.Sprintf("t%02d", i)
		candidates = append(candidates, tool(id, "", float64(i+1)))
		lists[id] = []index.Supplier{{ID: "helper", Share: 0.25}}
	}
	for _, f := range Features(candidates, model(), Signals{Suppliers: lists})[:1] {
		if got, want := f[fusion.RelatedSupply], 0.25*8.5/13; math.Abs(got-want) > 1e-12 {
			t.Errorf("it supplies %v, want %v", got, want)
		}
	}
}

// A supplier that scores badly is not lifted above a better one for it, however little
// the best scores.
func TestABadSupplierIsLiftedNoMoreThanAGoodOne(t *testing.T) {
	for _, best := range []float64{8, 1e-5} {
		candidates := []index.Candidate{tool("asked", "", best), tool("good", "", 0), tool("bad", "", -6)}
		k := Signals{Suppliers: Suppliers{"asked": {{ID: "good", Share: 0.25}, {ID: "bad", Share: 0.25}}}}
		got := map[string]float64{}
		for _, r := range Rank(candidates, model(), k) {
			got[r.ID] = r.Features[fusion.RelatedSupply]
		}
		if got["bad"] != got["good"] || got["good"] <= 0 || got["good"] > 1 {
			t.Errorf("best %v: %v", best, got)
		}
	}
}

func TestCandidatesWithoutAFiniteScoreAreLeftOut(t *testing.T) {
	similar, matched := tool("similar", "mail", 1), tool("matched", "mail", 1)
	similar.Similarity, matched.Matches = math.NaN(), []schema.Match{{Score: math.Inf(-1)}}
	candidates := []index.Candidate{tool("nan", "mail", math.NaN()), tool("inf", "mail", math.Inf(1)), similar, matched, tool("good", "", 2), tool("owned", "mail", 1)}
	ranked := Rank(candidates, model(), Signals{Suppliers: Suppliers{"good": {{ID: "nan", Share: 1}}, "inf": {{ID: "good", Share: 1}}}})
	if got, want := refs(ranked), []string{"tool good", "tool owned"}; !slices.Equal(got, want) {
		t.Fatalf("ranked %v, want %v", got, want)
	}
	if got := ranked[0].Features[fusion.RelatedSupply]; got != 0 {
		t.Errorf("what is left out is supplied with %v", got)
	}
	if got := ranked[1].Features[fusion.RelatedOwner]; got != 0.5 {
		t.Errorf("its owner's best is %v of all, want .5", got)
	}
}

// drawn returns candidates, many of them equal, and what is known of them.
func drawn(t *rapid.T) ([]index.Candidate, Signals) {
	few := rapid.IntRange(0, 3)
	var candidates []index.Candidate
	u := uses{prior: map[string]float64{}, similar: map[string]float64{}, together: map[string]map[string]float64{}}
	lists := map[string][]index.Supplier{}
	for i := range rapid.IntRange(0, 16).Draw(t, "n") {
		id := fmt.Sprintf("e%02d", i/2) // a tool and a provider of each
		c := tool(id, []string{"", "", "e00", "owner"}[few.Draw(t, "owner")], float64(few.Draw(t, "words"))-1)
		if i%2 == 1 {
			c.Kind, c.Provider = schema.KindProvider, ""
		}
		candidates = append(candidates, c)
		other := fmt.Sprintf("e%02d", few.Draw(t, "other"))
		u.prior[id], u.similar[id] = float64(few.Draw(t, "prior")), float64(few.Draw(t, "similar"))/3
		u.together[id] = map[string]float64{other: 1. / 3}
		if other != id {
			lists[id] = []index.Supplier{{ID: other, Share: index.SupplierShare(1 + few.Draw(t, "suppliers"))}}
		}
	}
	k := Signals{Providers: rapid.Bool().Draw(t, "providers")}
	if rapid.Bool().Draw(t, "uses") {
		k.Usage = u
	}
	if rapid.Bool().Draw(t, "supply") {
		k.Suppliers = lists
	}
	return candidates, k
}

func TestRankDoesNotDependOnTheOrderFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		found, k := drawn(t)
		m := model()
		shuffled := rapid.Permutation(found).Draw(t, "shuffled")
		want, got := Rank(found, m, k), Rank(shuffled, m, k)
		for i := range want {
			if want[i].Ref != got[i].Ref || want[i].Score != got[i].Score || want[i].Features != got[i].Features {
				t.Fatalf("place %d: %+v, then %+v", i, want[i], got[i])
			}
		}
		if a, b := Front(found, m, k.Usage, 4), Front(shuffled, m, k.Usage, 4); !slices.Equal(a, b) {
			t.Fatalf("the front is %v, then %v", a, b)
		}
	})
}

// Features says what Rank scores by, and what it scores by is in bounds.
func TestFeaturesAreThoseOfRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		found, k := drawn(t)
		byRef := map[schema.Ref]fusion.Features{}
		for i, f := range Features(found, model(), k) {
			byRef[found[i].Ref] = f
		}
		ranked := Rank(found, model(), k)
		if len(ranked) != len(found) {
			t.Fatalf("%d of %d are ranked", len(ranked), len(found))
		}
		for i, r := range ranked {
			if byRef[r.Ref] != r.Features {
				t.Fatalf("%v is ranked by %v, Features says %v", r.Ref, r.Features, byRef[r.Ref])
			}
			if score, _ := model().Score(&r.Features, r.Matches, r.Unit); score != r.Score || i > 0 && score > ranked[i-1].Score {
				t.Fatalf("place %d has %v, its features say %v", i, r.Score, score)
			}
			if owner := r.Features[fusion.RelatedOwner]; owner < 0 || owner > 1 {
				t.Fatalf("%v has %v of the best score", r.Ref, owner)
			}
		}
	})
}

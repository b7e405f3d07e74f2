package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer"
)

const deep = 10

// hurry is the environment of a trainer that is content with little, so that the loop
// closes within seconds.
func hurry() []string {
	return []string{
		"TOOLSTREAM_TRAINER_PUBLISH=100ms", "TOOLSTREAM_TRAINER_MIN_PAIRS=64",
		"TOOLSTREAM_TRAINER_HALF_LIFE=240000h", // what is compared must not have faded in between
	}
}

// labelled reads the queries of the sample registry, each with a tool that is
// right for it.
func labelled(t *testing.T) (queries []string, right map[string]string) {
	t.Helper()
	all := check.Value(dataset.ReadQueries("../../examples/registry/queries.jsonl"))(t)
	right = map[string]string{}
	for _, q := range all {
		queries = append(queries, q.Text)
		right[q.Text] = q.Labels[0].ID
	}
	return queries, right
}

// feedback tells that a result was called and succeeded, the latter twice:
// all of it is one use.
func feedback(t *testing.T, p *process.Process, searchID, tool string) {
	t.Helper()
	for _, event := range []schema.FeedbackEvent{schema.Called, schema.Succeeded, schema.Succeeded} {
		body := map[string]any{"search_id": searchID, "tool_id": tool, "event": event}
		check.OK(t, p.Client.Post(t.Context(), "/v1/feedback", body, nil))
	}
}

// session is a user who uses the tool that is right for a query, wherever it
// is ranked.
type session struct {
	t      *testing.T
	p      *process.Process
	wanted map[string]string // by query
}

// maxRounds is how many rounds may pass until learned weights are live.
const maxRounds = 100

// round searches every query and uses the wanted tool.
func (s *session) round(queries []string) {
	s.t.Helper()
	for _, q := range queries {
		answer := search(s.t, s.p, schema.SearchRequest{Query: q, K: deep})
		for _, r := range answer.Results {
			if r.ID == s.wanted[q] {
				feedback(s.t, s.p, answer.SearchID, r.ID)
			}
		}
	}
}

// reciprocalRank is the mean over queries of that of the wanted tool.
func (s *session) reciprocalRank(queries []string) float64 {
	s.t.Helper()
	sum := 0.0
	for _, q := range queries {
		for at, r := range search(s.t, s.p, schema.SearchRequest{Query: q, K: deep}).Results {
			if r.ID == s.wanted[q] {
				sum += 1 / float64(at+1)
			}
		}
	}
	return sum / float64(len(queries))
}

type weightsList struct {
	Live     string                `json:"live"`
	Pinned   bool                  `json:"pinned"`
	Versions []trainer.KeptWeights `json:"versions"`
	Damaged  []trainer.Damaged     `json:"damaged"`
}

func listWeights(t *testing.T, p *process.Process) (weightsList, schema.Weights) {
	t.Helper()
	var list weightsList
	at(t, p, "weights", "list", "--json").decode(t, &list)
	for _, w := range list.Versions {
		if w.Version == list.Live {
			return list, w.Weights
		}
	}
	t.Fatalf("the live version %s is not in the list %+v", list.Live, list.Versions)
	return list, schema.Weights{}
}

// learn repeats rounds until learned weights went live, pins them and waits until
// searches rank by them.
func (s *session) learn(queries []string) (live schema.Weights) {
	s.t.Helper()
	for range maxRounds {
		s.round(queries)
		check.OK(s.t, s.p.Client.Get(s.t.Context(), "/v1/weights/live", nil, &live))
		if live.Trained > 0 {
			return s.pinned()
		}
	}
	s.t.Fatalf("nothing that was learned in %d rounds went live\n%s", maxRounds, s.p.Log())
	return live
}

// pinned keeps the live weights, and returns them once searches rank by them.
func (s *session) pinned() (live schema.Weights) {
	s.t.Helper()
	check.OK(s.t, s.p.Client.Post(s.t.Context(), "/v1/weights/live/pin", nil, &live))
	waitUntilRanksBy(s.t, s.p, live.Version)
	return live
}

// ranksBy returns the version of the weights that searches rank by.
func ranksBy(t *testing.T, p *process.Process) string {
	t.Helper()
	return search(t, p, schema.SearchRequest{Query: "weather", K: 1}).Weights
}

func TestDeploymentLearnsFromFeedback(t *testing.T) {
	t.Parallel()
	everywhere(t, feedbackReachesTheRanking, hurry()...)
}

func feedbackReachesTheRanking(t *testing.T, d process.Deployment) {
	p := d.Front()
	load(t, p, registry)
	queries, _ := labelled(t)
	s := &session{t: t, p: p, wanted: thirds(t, p, queries)}
	queries = slices.DeleteFunc(queries, func(q string) bool { return s.wanted[q] == "" })
	before := s.reciprocalRank(queries)

	usageShows(t, p, queries[0])
	if v := ranksBy(t, p); v != "builtin" {
		t.Errorf("after a few uses searches rank by %s", v)
	}

	learned := s.learn(queries)
	after := s.reciprocalRank(queries)
	for round := 0; after <= before && round < maxRounds; round++ { // weights may go live before there is much use
		s.round(queries)
		after = s.reciprocalRank(queries)
	}
	t.Logf("mean reciprocal rank of what is used: %.3f before, %.3f after %d pairs", before, after, learned.Trained)
	if after <= before {
		t.Errorf("what is used ranks at %.3f, before feedback at %.3f", after, before)
	}
	if !trustsUse(learned) || learned.Epoch == 0 || learned.Hash == "" {
		t.Errorf("learned: %+v", learned)
	}
	versionsCanBeSwitched(t, p, learned)
	s.pinned()
	restartKeepsWeights(t, d)
}

// trustsUse reports whether some feature of use counts for a tool.
func trustsUse(w schema.Weights) bool {
	for name, weight := range w.Features {
		if strings.HasPrefix(name, "usage.") && weight > 0 {
			return true
		}
	}
	return false
}

// thirds returns what ranks third for each query: users who want that have
// something to teach. Weaviate has no third result for a query without a vector.
func thirds(t *testing.T, p *process.Process, queries []string) map[string]string {
	t.Helper()
	wanted := map[string]string{}
	for _, q := range queries {
		if found := search(t, p, schema.SearchRequest{Query: q, K: deep}).Results; len(found) > 2 {
			wanted[q] = found[2].ID
		}
	}
	return wanted
}

// favourites returns for each query the last by name of what ranks behind its second
// result: for users who want the same few tools for many queries, use ranks what weights
// alone do not, and is not withheld.
func favourites(t *testing.T, p *process.Process, queries []string) map[string]string {
	t.Helper()
	wanted := map[string]string{}
	for _, q := range queries {
		for at, r := range search(t, p, schema.SearchRequest{Query: q, K: deep}).Results {
			if at >= 2 {
				wanted[q] = max(wanted[q], r.ID)
			}
		}
	}
	return wanted
}

// usageShows uses two results of one search and waits until both the use and
// the use together are in the explanations of the next.
func usageShows(t *testing.T, p *process.Process, query string) {
	t.Helper()
	first := search(t, p, schema.SearchRequest{Query: query, K: deep, Explain: true})
	for _, r := range first.Results {
		if r.Explanation.Features["usage.prior"] != 0 || r.Explanation.Features["usage.co_use"] != 0 {
			t.Errorf("%s has usage before any feedback: %v", r.ID, r.Explanation.Features)
		}
	}
	used := []string{first.Results[2].ID, first.Results[4].ID}
	for _, id := range used {
		feedback(t, p, first.SearchID, id)
	}
	process.Await(t, "usage does not show", func() (bool, error) {
		shown := map[string]map[string]float64{}
		for _, r := range search(t, p, schema.SearchRequest{Query: query, K: deep, Explain: true}).Results {
			shown[r.ID] = r.Explanation.Features
		}
		for id, features := range shown {
			if id != used[0] && id != used[1] && features["usage.prior"] != 0 {
				t.Fatalf("%s was never used: %v", id, features)
			}
		}
		return shown[used[0]]["usage.prior"] > 0 && shown[used[1]]["usage.prior"] > 0 && shown[used[1]]["usage.co_use"] > 0, nil
	})
	var told trainer.UsagePage
	at(t, p, "usage", "--json").decode(t, &told)
	for _, id := range used {
		i := slices.IndexFunc(told.Tools, func(u trainer.ToolUse) bool { return u.ID == id })
		if i < 0 || told.Tools[i].Uses <= 0 || told.Tools[i].Selected != 1 || told.Tools[i].Shown != 1 {
			t.Errorf("usage of %s is told of as %+v", id, told.Tools[max(i, 0):])
		}
	}
}

// versionsCanBeSwitched goes to the built-in weights and back, on the command
// line, while the process serves.
func versionsCanBeSwitched(t *testing.T, p *process.Process, learned schema.Weights) {
	t.Helper()
	list, live := listWeights(t, p)
	if live.Version != learned.Version || list.Versions[len(list.Versions)-1].Version != "builtin" || len(list.Versions) < 2 || !list.Pinned {
		t.Errorf("versions: live %s, %d in all", list.Live, len(list.Versions))
	}
	var builtin, shown trainer.KeptWeights
	var promoted, back schema.Weights
	at(t, p, "weights", "show", "builtin", "--json").decode(t, &builtin)
	at(t, p, "weights", "show", learned.Version, "--json").decode(t, &shown)
	if shown.Hash != learned.Hash || len(shown.Words) == 0 {
		t.Errorf("shown %+v, learned %+v", shown, learned)
	}
	check.OK(t, p.Client.Post(t.Context(), "/v1/weights:unpin", nil, nil))
	was := learned
	process.Await(t, "searches do not rank by promoted weights", func() (bool, error) {
		at(t, p, "weights", "promote", "builtin", "--json").decode(t, &promoted)
		if !maps.Equal(promoted.Features, builtin.Features) || promoted.Epoch <= was.Epoch {
			t.Errorf("promoted %+v", promoted)
		}
		untouched := ranksByOr(t, p, promoted.Version)
		at(t, p, "weights", "rollback", "--json").decode(t, &back)
		waitUntilRanksBy(t, p, back.Version)
		was = back
		return untouched && back.Source == "rolled back to "+promoted.Parent, nil // or others were learned meanwhile
	})
}

// ranksByOr waits until searches rank by a version, and reports whether they came to
// before others were live.
func ranksByOr(t *testing.T, p *process.Process, version string) (did bool) {
	t.Helper()
	process.Await(t, fmt.Sprintf("searches do not come to rank by %s", version), func() (bool, error) {
		if did = ranksBy(t, p) == version; did {
			return true, nil
		}
		_, live := listWeights(t, p)
		return live.Version != version, nil
	})
	return did
}

func waitUntilRanksBy(t *testing.T, p *process.Process, version string) {
	t.Helper()
	process.Await(t, "searches do not come to rank by "+version, func() (bool, error) { return ranksBy(t, p) == version, nil })
}

func restartKeepsWeights(t *testing.T, d process.Deployment) {
	t.Helper()
	list, live := listWeights(t, d.Front())
	d.Restart(t)
	for _, p := range d.Fronts() {
		waitUntilRanksBy(t, p, live.Version)
	}
	again, same := listWeights(t, d.Front())
	for _, w := range list.Versions { // another version may be learned meanwhile
		if !slices.ContainsFunc(again.Versions, func(k trainer.KeptWeights) bool { return k.Version == w.Version && k.Hash == w.Hash }) {
			t.Errorf("after the restart version %s is not there: %+v", w.Version, again.Versions)
		}
	}
	if same.Hash != live.Hash {
		t.Errorf("before the restart %s is live, after it %s", live.Version, same.Version)
	}
}

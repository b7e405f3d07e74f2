package questions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/schema"
)

// bucket is a store whose values may be so long.
type bucket struct {
	*streamtest.KV
	most int
}

func (b *bucket) MaxValue() int { return cmp.Or(b.most, 1<<20) }

// searcher answers with tools by the weights, and fails by the query.
type searcher struct {
	index int
	asked *[]string
}

var errAway = errors.New("away")

func (s searcher) Search(_ context.Context, caller identity.Caller, req schema.SearchRequest) (schema.SearchResponse, error) {
	*s.asked = append(*s.asked, fmt.Sprintf("%s %s by %s %s %s of %d, %d apart %v", caller.Tenant, req.Query, req.Weights, req.Rerank, req.Rewrite, s.index, req.K, !*req.Collapse))
	answer := schema.SearchResponse{Weights: cmp.Or(req.Weights, "w2"), Degraded: []string{}}
	switch {
	case req.Weights == "unknown":
		return answer, &schema.Invalid{Path: "/weights", Reason: "is no version"}
	case req.Query == "fail":
		return answer, errAway
	case req.Query == "degrade":
		answer.Degraded = []string{"vectors"}
	}
	ids := []string{"x", "ferry", "train"}
	if req.Weights == "builtin" {
		ids = []string{"ferry", "x"}
	}
	for _, id := range ids {
		answer.Results = append(answer.Results, schema.Result{ID: id})
	}
	return answer, nil
}

type fixture struct {
	*API
	mux   http.Handler
	asked []string
}

func newFixture() *fixture {
	f := &fixture{}
	f.API = &API{
		Bucket:   &bucket{KV: streamtest.NewKV()},
		Searcher: func(index int) Searcher { return searcher{index, &f.asked} },
		Found:    func(_ context.Context, _ identity.Caller, id string) (bool, error) { return id != "gone", nil },
		Problem: func(_ context.Context, err error) error {
			return huma.Error503ServiceUnavailable("answered as a search that is " + err.Error())
		},
	}
	api, mux := httpserver.NewAPI("test")
	f.Routes(api)
	f.mux = mux
	return f
}

func (f *fixture) call(ctx context.Context, tenant string, role identity.Role, method, path, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, r.WithContext(identity.With(ctx, identity.Caller{Tenant: tenant, Role: role})))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestQuestionsAreReplacedByVersion(t *testing.T) {
	f := newFixture()
	long := strings.Repeat("x", maxQuery+1)
	for _, tc := range []struct {
		tenant       string
		role         identity.Role
		method, body string
		code         int
		says         string
	}{
		{"acme", identity.Operator, "GET", "", 200, `{"version":"0","questions":[]}`},
		{"acme", identity.Writer, "GET", "", 403, "operator"},
		{"acme", identity.Writer, "PUT", `{"version":"0","questions":[]}`, 403, "operator"},
		{"acme", identity.Operator, "PUT", `{"version":"0","questions":[{"query":"a ferry","relevant":[{"id":"ferry"}]},{"id":"q2","query":"rails","arguments":{"city":"where"},"relevant":[{"id":"cafe\u0301","grade":3,"alternatives":["metro"]}]}]}`,
			200, `{"version":"1","questions":[{"id":"b52dcd167fda","query":"a ferry","relevant":[{"id":"ferry","grade":1}]},{"id":"q2","query":"rails","arguments":{"city":"where"},"relevant":[{"id":"café","grade":3,"alternatives":["metro"]}]}]}`},
		{"acme", identity.Operator, "PUT", `{"version":"0","questions":[]}`, 409, "read them again"},
		{"acme", identity.Operator, "PUT", `{"version":"9","questions":[]}`, 409, "read them again"},
		{"acme", identity.Operator, "PUT", `{"version":"newest","questions":[]}`, 422, "/body/version"},
		{"acme", identity.Operator, "PUT", `{"version":"1","questions":[{"id":"a","query":"b","relevant":[]}]}`, 422, "/body/questions/0/relevant"},
		{"acme", identity.Operator, "PUT", `{"version":"1","questions":[{"id":"a","query":" ","relevant":[{"id":"b"}]}]}`, 422, "/body/questions/0/query"},
		{"acme", identity.Operator, "PUT", `{"version":"1","questions":[{"id":"a","query":"` + long + `","relevant":[{"id":"b"}]}]}`, 422, "4096 bytes"},
		{"acme", identity.Operator, "PUT", `{"version":"1","questions":[{"id":"a","query":"q","relevant":[{"id":"b"}]},{"id":"a","query":"r","relevant":[{"id":"b"}]}]}`, 422, "/body/questions/1/id"},
		{"other", identity.Operator, "GET", "", 200, `{"version":"0","questions":[]}`},
		{"acme", identity.Admin, "PUT", `{"version":"1","questions":[]}`, 200, `{"version":"2","questions":[]}`},
		{"acme", identity.Operator, "GET", "", 200, `{"version":"2","questions":[]}`},
	} {
		if code, says := f.call(t.Context(), tc.tenant, tc.role, tc.method, "/v1/questions", tc.body); code != tc.code || !strings.Contains(says, tc.says) {
			t.Errorf("%s %s %s %.200s: %d %s", tc.tenant, tc.role, tc.method, tc.body, code, says)
		}
	}
	f.Bucket.(*bucket).most = 10
	if code, says := f.call(t.Context(), "acme", identity.Operator, "PUT", "/v1/questions", `{"version":"2","questions":[{"query":"a ferry","relevant":[{"id":"ferry"}]}]}`); code != 422 || !strings.Contains(says, "more than the 10") {
		t.Errorf("%d %s", code, says)
	}
}

const two = `{"version":"0","questions":[
	{"id":"one","query":"a ferry","relevant":[{"id":"ferry"}]},
	{"id":"two","query":"rails","relevant":[{"id":"gone","grade":2,"alternatives":["train"]}]}]}`

func TestSettingsAreMeasuredByTheQuestions(t *testing.T) {
	f := newFixture()
	evaluate := func(body string) (int, string) {
		return f.call(t.Context(), "acme", identity.Operator, "POST", "/v1/questions:evaluate", body)
	}
	if code, says := evaluate(`{"runs":[{}]}`); code != 409 {
		t.Errorf("without questions: %d %s", code, says)
	}
	if code, says := f.call(t.Context(), "acme", identity.Operator, "PUT", "/v1/questions", two); code != 200 {
		t.Fatal(code, says)
	}
	code, says := evaluate(`{"runs":[{},{"weights":"builtin","rerank":"off","rewrite":"off","model":2}],"k":20}`)
	var got EvaluationResult
	if err := json.Unmarshal([]byte(says), &got); code != 200 || err != nil {
		t.Fatal(code, says, err)
	}
	if want := []string{
		"acme a ferry by    of 0, 20 apart true", "acme a ferry by builtin off off of 2, 20 apart true",
		"acme rails by w2   of 0, 20 apart true", "acme rails by builtin off off of 2, 20 apart true",
	}; !slices.Equal(f.asked, want) {
		t.Errorf("asked %q", f.asked)
	}
	a, b := got.Runs[0], got.Runs[1]
	// The first finds the one tool second, and the other by its alternative third.
	ndcg := (1/math.Log2(3) + 1/math.Log2(4)) / 2
	if !near(a.Metrics.NDCG10, ndcg) || !near(a.Metrics.MRR, (1./2+1./3)/2) || a.Metrics.Recall5 != 1 || a.Metrics.Complete10 != 1 || a.Difference != nil {
		t.Errorf("the first run: %+v", a)
	}
	if b.Metrics.NDCG10 != .5 || b.Metrics.Recall10 != .5 || b.Intervals.MRR != (EvaluationInterval{0, 1}) || !near(b.Difference.NDCG10.Gain, .5-ndcg) || b.Difference.MRR.P == 0 {
		t.Errorf("the second run: %+v %+v", b, b.Difference)
	}
	if a.Settings.Weights != "w2" || b.Settings != (EvaluationSettings{"builtin", "off", "off", 2}) {
		t.Errorf("settings %+v and %+v", a.Settings, b.Settings)
	}
	if q := a.Questions[1]; q.ID != "two" || q.First != 3 || !near(q.NDCG10, .5) || !slices.Equal(q.Results, []string{"x", "ferry", "train"}) {
		t.Errorf("%+v", q)
	}
	if q := b.Questions[1]; q.First != 0 || q.NDCG10 != 0 {
		t.Errorf("%+v", q)
	}
	if !slices.Equal(got.Missing, []string{"gone"}) {
		t.Errorf("missing are %v", got.Missing)
	}
	for body, want := range map[string]string{
		`{"runs":[]}`: "422", `{"runs":[{},{},{},{},{}]}`: "422", `{"runs":[{}],"k":5}`: "422", `{"runs":[{"rerank":"best"}]}`: "422",
		`{"runs":[{},{"weights":"unknown"}]}`: "422 /body/runs/1/weights",
	} {
		status, at, _ := strings.Cut(want, " ")
		if code, says := evaluate(body); fmt.Sprint(code) != status || !strings.Contains(says, at) {
			t.Errorf("%s: %d %s", body, code, says)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestADegradedOrFailedSearchEndsAnEvaluation(t *testing.T) {
	for query, want := range map[string]string{"fail": "answered as a search that is away", "degrade": "without vectors"} {
		f := newFixture()
		f.call(t.Context(), "acme", identity.Operator, "PUT", "/v1/questions", `{"version":"0","questions":[{"query":"`+query+`","relevant":[{"id":"a"}]}]}`)
		if code, says := f.call(t.Context(), "acme", identity.Operator, "POST", "/v1/questions:evaluate", `{"runs":[{}]}`); code != 503 || !strings.Contains(says, want) {
			t.Errorf("%s: %d %s", query, code, says)
		}
	}
}

// The number of running evaluations is bounded, for one tenant at half of all.
func TestRunningEvaluationsAreBounded(t *testing.T) {
	f := newFixture()
	f.call(t.Context(), "acme", identity.Operator, "PUT", "/v1/questions", two)
	evaluate := func() int {
		code, _ := f.call(t.Context(), "acme", identity.Operator, "POST", "/v1/questions:evaluate", `{"runs":[{}]}`)
		return code
	}
	for range maxRunning {
		f.running.start("other")
	}
	if code := evaluate(); code != 200 {
		t.Errorf("beside those of another tenant: %d", code)
	}
	end, ok := f.running.start("third")
	if !ok {
		t.Fatal("too many for a third tenant")
	}
	f.running.start("third")
	if code := evaluate(); code != 503 {
		t.Errorf("one too many: %d", code)
	}
	end()
	for range 2 {
		if code := evaluate(); code != 200 {
			t.Errorf("one: %d", code)
		}
	}
}

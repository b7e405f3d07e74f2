package trainer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// signalled is a search whose first owner has that share of the scores.
func (b *bench) signalled(search string, mass float64) schema.Impression {
	i := b.impression(search, "send", "track", "fetch", "clock")
	i.Shown[0].Agent, i.Shown[1].Agent, i.Shown[2].Agent = "bank", "post", "bank"
	i.Signals = make([]float64, rerank.SignalCount)
	i.Signals[rerank.Mass] = mass
	return i
}

// serveOwners shows n searches: in every other one, which is told by its signals,
// one owner's tools are used, and in the others two owners'.
func (b *bench) serveOwners(prefix string, n int) {
	b.t.Helper()
	for i := range n {
		search := fmt.Sprintf("%s%d", prefix, i)
		mass, second := 0.1, "track"
		if i%2 == 0 {
			mass, second = 0.2, "fetch"
		}
		b.must(b.show(b.signalled(search, mass+0.01*float64(i%7))))
		b.must(b.report(b.feedback(search, "send", schema.Called), b.feedback(search, second, schema.Succeeded)))
	}
	b.advance()
}

func probability(t *testing.T, u schema.Usage, mass float64) float64 {
	t.Helper()
	c, err := rerank.ClassifierOf(*u.Single)
	if err != nil {
		t.Fatal(err)
	}
	var s rerank.Signals
	s[rerank.Mass] = mass
	return c.Probability(s)
}

func TestWhichQueriesOneOwnerAnswersIsLearned(t *testing.T) {
	b := newBench(t, Config{})
	b.serveOwners("few", fewestClasses-1)
	if u := b.store.usage(t, "default"); u.Single != nil {
		t.Errorf("learned from %d searches", u.Single.Examples)
	}
	b.serveOwners("s", 100)
	u := b.store.usage(t, "default")
	if u.Single == nil || u.Single.Examples != fewestClasses+99 {
		t.Fatalf("%+v", u.Single)
	}
	if one, two := probability(t, u, 0.23), probability(t, u, 0.1); one < 0.9 || two > 0.1 {
		t.Errorf("one owner: %v, two: %v", one, two)
	}
	b.restart(Config{})
	b.advance()
	if again := b.store.usage(t, "default"); !slices.Equal(again.Single.Weights, u.Single.Weights) {
		t.Errorf("after a restart: %v instead of %v", again.Single, u.Single)
	}
}

func TestWhatASearchTeachesOfItsOwners(t *testing.T) {
	for name, test := range map[string]struct {
		feedback []string // tool and event
		want     string
	}{
		"one tool":          {[]string{"send called"}, "single"},
		"two of an owner":   {[]string{"send called", "fetch selected"}, "single"},
		"of two owners":     {[]string{"send called", "track called"}, "several"},
		"one without owner": {[]string{"clock called", "clock succeeded"}, "single"},
		"with and without":  {[]string{"clock called", "send called"}, "several"},
		"the other failed":  {[]string{"send called", "track called", "track failed"}, "single"},
		"rejected":          {[]string{"send rejected"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Config{})
			b.must(b.show(b.signalled("s", 0.3)))
			for i, f := range test.feedback {
				tool, event, _ := strings.Cut(f, " ")
				b.must(b.report(b.feedback("s", tool, schema.FeedbackEvent(event))))
				if i == 0 {
					b.advance() // what comes later replaces what was known
				}
			}
			b.advance()
			got := ""
			if c, ok := b.memory.tenants["default"].classes["s"]; ok && c.Single {
				got = "single"
			} else if ok {
				got = "several"
			}
			if got != test.want {
				t.Errorf("%q", got)
			}
		})
	}
}

// Signals of another version teach nothing, and those that can not be are no
// measurement.
func TestSignalsThatTeachNothing(t *testing.T) {
	b := newBench(t, Config{})
	other := b.signalled("other", 0.3)
	other.Signals = other.Signals[:3]
	wild := b.signalled("wild", 0.3)
	wild.Signals[0] = 1e300
	b.must(b.show(other, wild))
	b.must(b.report(b.feedback("other", "send", schema.Called), b.feedback("wild", "send", schema.Called)))
	b.advance()
	if n := len(b.memory.tenants["default"].classes); n != 0 {
		t.Errorf("%d searches teach", n)
	}
	if got := b.outcome(badImpression); got != 1 {
		t.Errorf("%d impressions are invalid", got)
	}
}

func TestTheNewestSearchesTeach(t *testing.T) {
	b := newBench(t, Config{})
	a := newAccount("default")
	m := &memory{changes: map[string][]byte{}}
	for i := range maxClasses + 5 {
		rec := searchRecord{Shown: b.signalled("", 0).Shown, Signals: b.signalled("", 0).Signals, Used: []int{0}, at: b.now.Add(-time.Duration(i) * time.Second)}
		a.classify(m, fmt.Sprint(i), &rec)
	}
	if _, ok := a.classes[fmt.Sprint(maxClasses+4)]; ok || len(a.classes) != maxClasses {
		t.Errorf("%d kept, the oldest too: %t", len(a.classes), ok)
	}
	if raw, ok := m.changes[keyClass+"default/"+fmt.Sprint(maxClasses+4)]; !ok || raw != nil {
		t.Errorf("the oldest stays stored: %s", raw)
	}
}

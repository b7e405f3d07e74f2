package trainer

import (
	"fmt"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
)

var ten = []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"}

// evidence returns what the cluster of an axis says of a tool.
func (b *bench) evidence(tool string) float64 {
	b.t.Helper()
	m := check.Value(b.Service.state.loaded())(b.t)
	t := m.tenant("default")
	r := t.relevance()
	for _, c := range t.byAge() {
		for i := range c.Tools {
			if c.Tools[i].ID == tool {
				return r.evidence[c.id][i]
			}
		}
	}
	b.t.Fatalf("%s was never shown", tool)
	return 0
}

func TestClicksTellMoreTheDeeperTheyAre(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	b.search("s", 1, "ann", ten, []string{"t4"})
	if used, first, last := b.evidence("t4"), b.evidence("t0"), b.evidence("t9"); used < 1 || first > -1.5 || last > 0 || last < -0.2 {
		t.Errorf("used %.2f, first %.2f, last %.2f", used, first, last)
	}
}

// Searches of which nothing is reported are not counted, so that of those that are, many
// hold a mistake: three clients who call three tools agree on none of them.
func TestOneOfFewCallsMayBeAMistake(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	for i, mistake := range []int{0, 5, 8} {
		b.search(fmt.Sprint("s", i), 1, fmt.Sprint("c", i), ten, []string{ten[mistake]})
	}
	if u := b.published(); len(u.Prior) > 0 {
		t.Errorf("usage %v", u.Prior)
	}
}

func TestAMistakeIsOutvoted(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	b.search("mistake", 1, "eve", ten, []string{"t0"})
	for i := range 5 {
		b.search(fmt.Sprint("s", i), 1, fmt.Sprint("c", i), ten, []string{"t1"})
	}
	if b.evidence("t0") > -2 || b.evidence("t1") < 4 {
		t.Errorf("the mistake %.2f, what the others used %.2f", b.evidence("t0"), b.evidence("t1"))
	}
	if u := b.published(); u.Prior["t0"] > 0 || u.Prior["t1"] == 0 || u.Came[0].Tools["t0"] >= 0 || u.Came[0].Tools["t1"] <= 0 {
		t.Errorf("usage %+v", u)
	}
}

// However long a tool was relevant, a few searches that find another one outweigh that.
func TestRelevanceMayChange(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	for i := range 20 {
		b.search(fmt.Sprint("before", i), 1, fmt.Sprint("b", i), ten, []string{"t0"})
	}
	for i := range 4 {
		b.search(fmt.Sprint("after", i), 1, fmt.Sprint("a", i), ten, []string{"t1"})
	}
	if before, after := b.evidence("t0"), b.evidence("t1"); before > 0 || after < before {
		t.Errorf("before %.2f, after %.2f", before, after)
	}
}

// A client who clicks where no other client does counts less than the others.
func TestAClientWhoClicksAtRandomIsNotBelieved(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	for q := range 12 {
		for i := range 4 {
			b.search(fmt.Sprint("q", q, "s", i), q, fmt.Sprint("c", i), ten, []string{"t1"})
		}
		b.search(fmt.Sprint("q", q, "spam"), q, "spammer", ten, []string{"t9"})
	}
	m := check.Value(b.Service.state.loaded())(t)
	r := m.tenant("default").relevance()
	if r.reliable[reporter{Client: "spammer"}] > 0.5 || r.reliable[reporter{Client: "c1"}] < 0.9 {
		t.Errorf("spammer %.2f, honest client %.2f", r.reliable[reporter{Client: "spammer"}], r.reliable[reporter{Client: "c1"}])
	}
	if u := b.published(); u.Prior["t9"] > 0 {
		t.Errorf("usage %v", u.Prior)
	}
}

// A credential counts as one client, whatever names it gives: however often it reports, the
// others decide.
func TestInventedNamesAreOneClient(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	for q := range 12 {
		for i := range 4 {
			b.search(fmt.Sprint("q", q, "s", i), q, fmt.Sprint("app", i, "/ann"), ten, []string{"t1"})
		}
		for i := range maxSessions {
			b.search(fmt.Sprint("q", q, "spam", i), q, fmt.Sprint("eve/", i), ten, []string{"t3"})
		}
	}
	for _, c := range b.clusters() {
		if n := c.byCredential(); len(n) != 5 {
			t.Fatalf("sessions by credential: %v", n)
		}
	}
	if u := b.published(); u.Prior["t3"] > 0 || u.Prior["t1"] == 0 || u.Came[0].Tools["t3"] > 0 {
		t.Errorf("uses %v, outcome %v", u.Prior, u.Came[0])
	}
}

// A thousand names of one credential weigh as much as that credential does without names,
// and less than three others.
func TestAThousandNamesWeighAsOneSubject(t *testing.T) {
	weigh := func(name func(i int) string) (reported, right float64) {
		b := newBench(t, Config{Model: "m"})
		for i := range 3 {
			for n := range 4 {
				b.search(fmt.Sprint("s", i, n), 1, fmt.Sprint("app", i, "/"), ten, []string{"t1"})
			}
		}
		for i := range 1000 {
			b.search(fmt.Sprint("spam", i), 1, "eve/"+name(i), ten, []string{"t3"})
		}
		return b.evidence("t3"), b.evidence("t1")
	}
	reported, right := weigh(func(i int) string { return fmt.Sprint(i) })
	plain, plainRight := weigh(func(int) string { return "" })
	if reported > plain+1e-9 || right < plainRight-1e-9 {
		t.Errorf("with 1,000 names %.3f beside %.3f, without any %.3f beside %.3f", reported, right, plain, plainRight)
	}
	if right <= reported {
		t.Errorf("what three others use has %.3f, what one reports %.3f", right, reported)
	}
}

// Where all share a credential, invented names pass for users. What they report for nearly
// every query counts for none, and what the others use still does.
func TestAToolUsedForMostQueriesCountsForNone(t *testing.T) {
	for reported, counts := range map[int]bool{enoughQueries / 4: true, enoughQueries: false} {
		b := newBench(t, Config{Model: "m"})
		for q := range enoughQueries {
			right := fmt.Sprint("right", q)
			shown := []string{"useless", right, "a", "b"}
			for i := range 12 {
				if i < 4 && (q >= reported || !counts) {
					b.search(fmt.Sprint("q", q, "s", i), q, fmt.Sprint("/ann", i), shown, []string{right})
				}
				if q < reported {
					b.search(fmt.Sprint("q", q, "spam", i), q, fmt.Sprint("/eve", i), shown, []string{"useless"})
				}
			}
		}
		if u := b.published(); u.Prior["useless"] > 0 != counts || u.Prior["right31"] == 0 {
			t.Errorf("reported for %d queries: uses %v", reported, u.Prior)
		}
	}
}

// Tools that are relevant to the same queries are used together, though no user clicks
// both.
func TestToolsRelevantToOneQueryAreUsedTogether(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	for i := range 8 {
		b.search(fmt.Sprint("s", i), 1, fmt.Sprint("c", i), []string{"z", "w", "x", "y"}, []string{[]string{"x", "y"}[i%2]})
	}
	u := b.published()
	if u.CoUse["x"]["y"] == 0 || u.CoUse["y"]["x"] == 0 || u.Prior["z"] > 0 {
		t.Errorf("usage %v, together %v", u.Prior, u.CoUse)
	}
}

func TestUsageFades(t *testing.T) {
	b := newBench(t, Config{Model: "m", HalfLife: time.Hour})
	b.search("s", 1, "app/ann", ten, []string{"t1"})
	b.search("s2", 1, "web/ben", ten, []string{"t1"})
	b.advance()
	fresh := b.store.usage(t, "default")
	b.now = b.now.Add(25 * time.Hour)
	if u := b.published(); fresh.Prior["t1"] == 0 || len(fresh.Came) != 1 || len(u.Prior)+len(u.Asked)+len(u.Came) > 0 || u.Epoch <= fresh.Epoch {
		t.Errorf("fresh %+v, a day later %+v", fresh, u)
	}
}

func TestUsageKeepsToItsBudget(t *testing.T) {
	b := newBench(t, Config{Model: "m", UsageBytes: 3000})
	for i := range 40 {
		b.search(fmt.Sprint("s", i), i%32, fmt.Sprint("c", i, "/"), []string{fmt.Sprint("tool", i), "both"}, []string{fmt.Sprint("tool", i), "both"})
	}
	b.advance()
	e := check.Value(b.store.Get(t.Context(), UsageKey("default")))(t)
	if u := b.store.usage(t, "default"); len(e.Value) > 2*3000+200 || u.Prior["both"] == 0 || len(u.Asked) == 0 || len(u.Came) == 0 {
		t.Errorf("%d bytes: %s", len(e.Value), e.Value)
	}
}

// It takes two credentials or three uses until answers to a query, and to those like it,
// follow what was used.
func TestASingleUseIsAHint(t *testing.T) {
	for name, c := range map[string]struct {
		clients   []string
		confirmed bool
	}{
		"one client, once":          {[]string{"ann"}, false},
		"one client, twice":         {[]string{"ann", "ann"}, false},
		"one client, three times":   {[]string{"ann", "ann", "ann"}, true},
		"without a name, twice":     {[]string{"", ""}, false},
		"without a name, 3 times":   {[]string{"", "", ""}, true},
		"two names of a credential": {[]string{"ann", "ben"}, false},
		"two names of another":      {[]string{"app/ann", "app/ben"}, false},
		"two credentials":           {[]string{"app/ann", "web/ann"}, true},
		"one with and one without":  {[]string{"app/", ""}, true},
	} {
		b := newBench(t, Config{Model: "m"})
		for i, client := range c.clients {
			b.search(fmt.Sprint("s", i), 1, client, ten, []string{"t2"})
		}
		b.restart(Config{Model: "m"})
		u := b.published()
		if known := len(u.Asked["t2"]) == 1 && len(u.Came) == 1 && u.Came[0].Tools["t2"] > 0; known != c.confirmed || !known && len(u.Asked)+len(u.Came) > 0 || u.Prior["t2"] == 0 {
			t.Errorf("%s: queries %v, outcomes %v, uses %v", name, u.Asked, u.Came, u.Prior)
		}
	}
}

// Usage is published with the queries of the model that is searched by.
func TestUsageFollowsTheModel(t *testing.T) {
	b := newBench(t, Config{Model: "old"})
	for i := range enoughSessions {
		before, after := fmt.Sprint("before", i), fmt.Sprint("after", i)
		old, recent := b.asking(before, 1, "x", "y"), b.asking(after, 2, "x", "y")
		old.Model, recent.Model = "old", "new"
		b.must(b.show(old, recent))
		b.must(b.report(b.feedback(before, "y", "called"), b.feedback(after, "x", "called")))
	}
	if u := b.published(); u.Model != "old" || len(u.Asked["y"]) != 1 || len(u.Asked["x"]) != 0 || u.Prior["x"] == 0 {
		t.Errorf("%+v", u)
	}
	b.Serve("new")
	if u := b.published(); u.Model != "new" || len(u.Asked["x"]) != 1 || len(u.Came) != 1 {
		t.Errorf("%+v", u)
	}
}

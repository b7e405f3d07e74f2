package trainer

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// came returns what is published of the first question.
func (b *bench) came() map[string]float64 {
	b.t.Helper()
	b.advance()
	u := b.store.usage(b.t, "default")
	if len(u.Came) == 0 {
		return nil
	}
	return u.Came[0].Tools
}

// unheard lets n ask for axis 0 and report nothing.
func (b *bench) unheard(n int, tools ...string) {
	b.t.Helper()
	for range n {
		b.silent++
		b.must(b.show(b.asking(fmt.Sprint("unheard", b.silent), 0, tools...)))
	}
	b.now = b.now.Add(time.Hour)
	b.advance()
}

// Who selects and calls nothing is heard as well.
func TestWhatIsOnlySelectedIsPublishedToo(t *testing.T) {
	b := newBench(t, Config{})
	for i := range 6 {
		imp := b.asking(fmt.Sprint("s", i), 0, "first", "second", "third")
		f := b.feedback(imp.SearchID, "third", schema.Selected)
		f.Client = fmt.Sprint("client-", i)
		b.must(b.show(imp))
		b.must(b.report(f))
	}
	if came := b.came(); came["third"] < 6 || came["first"] > -6 {
		t.Errorf("%v", came)
	}
}

// What was used comes up, and what was passed over above it goes down, the less the
// fewer look there.
func TestWhatCameOfAQuestionIsPublished(t *testing.T) {
	b := newBench(t, Config{})
	b.askers("s", 6, func(int) []int { return []int{2} }, "first", "second", "third", "fourth")
	came := b.came()
	if came["third"] < 6 || came["first"] > -6 || came["second"] > -1 || came["second"] < came["first"] || came["fourth"] < came["second"] {
		t.Errorf("%v", came)
	}
	for tool, x := range came {
		if math.Abs(x) > certain {
			t.Errorf("%s: %v", tool, x)
		}
	}
}

// A few who find something else right outweigh the many before them.
func TestWhatIsRightMayChange(t *testing.T) {
	b := newBench(t, Config{})
	b.askers("s", 20, func(int) []int { return []int{0} }, "old", "new")
	if came := b.came(); came["old"] < 4 || came["new"] > 0 {
		t.Fatalf("%v", came)
	}
	b.askers("t", 7, func(int) []int { return []int{1} }, "old", "new")
	if came := b.came(); came["old"] > 0 || came["new"] < 2 {
		t.Errorf("%v", came)
	}
}

// What was found is forgotten by what others report as far as they are believed, and
// never becomes its opposite.
func TestForgettingTakesBelief(t *testing.T) {
	for _, came := range []float64{-5, -0.001, 0, 0.001, 5} {
		if kept := turned(came, 0); math.Abs(kept-came) > 1e-9 {
			t.Errorf("%v becomes %v by somebody who is not believed", came, kept)
		}
		half, whole := turned(came, 0.5), turned(came, 1)
		if math.Abs(half) > math.Abs(came) || math.Abs(whole) > math.Abs(half) || whole*came < 0 {
			t.Errorf("%v becomes %v by half, %v by whole belief", came, half, whole)
		}
	}
	if kept := turned(5, 1); kept > 4.9 {
		t.Errorf("5 becomes %v", kept)
	}
}

// Who looks and reports nothing passes over what stands first, where people report;
// all of them together count as two.
func TestSilenceTellsWhereOthersReport(t *testing.T) {
	b := newBench(t, Config{})
	b.askers("s", 2, func(int) []int { return []int{0} }, "right", "other")
	b.unheard(3, "wrong", "right", "other")
	came := b.came()
	if came["wrong"] > -0.5 || came["wrong"] < -silentMost*2.2 || came["right"] < 2 {
		t.Errorf("%v", came)
	}
	b.unheard(40, "wrong", "right", "other")
	b.must(b.report(b.feedback("s0", "right", schema.Succeeded)))
	came = b.came()
	if came["wrong"] < -silentMost*2.2 || came["right"] < 2 {
		t.Errorf("what 40 do not say outweighs what two do: %v", came)
	}
	for _, q := range b.memory.tenants["default"].questions {
		reported := 0
		for i := range q.Seen {
			if !q.Seen[i].silent() {
				reported++
			}
		}
		if len(q.Seen) != maxObservations || reported != 2 {
			t.Errorf("%d searches are remembered, %d with a report", len(q.Seen), reported)
		}
	}
}

// Who said nothing before others reported tells as little by then as anybody who
// passed over what they used.
func TestSilenceOfLongAgoTellsLess(t *testing.T) {
	b := newBench(t, Config{})
	b.askers("s", 10, func(int) []int { return []int{0} }, "right", "other")
	b.unheard(2, "right", "other")
	b.askers("t", 10, func(int) []int { return []int{0} }, "right", "other")
	b.askers("u", 1, func(int) []int { return []int{1} }, "right", "other")
	if came := b.came(); came["right"] < 2 {
		t.Errorf("one who used something else, and two who said nothing long ago, outweigh twenty: %v", came)
	}
}

// Where hardly anybody reports, saying nothing is no verdict.
func TestSilenceSaysLittleWhereFewReport(t *testing.T) {
	b := newBench(t, Config{})
	b.askers("s", 1, func(int) []int { return []int{0} }, "right", "other")
	b.unheard(15, "right", "other")
	beliefs := b.memory.tenants["default"].believe()
	for _, q := range b.memory.tenants["default"].questions {
		if x := beliefs.listened(q, &q.Seen[1]); x > 0.25 || x <= 0 {
			t.Errorf("of one of whom nothing was heard is believed that he would report by %v", x)
		}
	}
}

func TestSilenceMakesNoQuestion(t *testing.T) {
	b := newBench(t, Config{})
	b.unheard(3, "a", "b")
	if len(b.memory.due) > 0 {
		t.Errorf("%d searches are waited for where nobody ever reported", len(b.memory.due))
	}
	b.askers("s", 1, func(int) []int { return []int{0} }, "a", "b")
	b.must(b.show(b.asking("else", 1, "a", "b")))
	b.now = b.now.Add(time.Hour)
	b.advance()
	if n := len(b.memory.tenants["default"].questions); n != 1 {
		t.Errorf("%d questions", n)
	}
	if len(b.memory.due) > 0 {
		t.Errorf("%d searches are still waited for", len(b.memory.due))
	}
}

// A report that comes after its search was taken for silent replaces that.
func TestALateReportBreaksTheSilence(t *testing.T) {
	b := newBench(t, Config{})
	b.askers("s", 1, func(int) []int { return []int{0} }, "a", "b")
	b.must(b.show(b.asking("late", 0, "a", "b")))
	b.now = b.now.Add(time.Hour)
	b.advance()
	b.must(b.report(b.feedback("late", "b", schema.Called)))
	b.advance()
	for _, q := range b.memory.tenants["default"].questions {
		if len(q.Seen) != 2 || q.Seen[0].silent() || q.Seen[1].silent() {
			t.Errorf("%+v", q.Seen)
		}
	}
}

// Whose reports do not count any more is not silent for it.
func TestWhoIsUnheardIsNotSilent(t *testing.T) {
	b := newBench(t, Config{})
	b.askers("s", 3, func(int) []int { return []int{0} }, "a", "b")
	for i := range 40 {
		imp := b.asking(fmt.Sprint("one", i), 0, "a", "b")
		b.must(b.show(imp))
		f := b.feedback(imp.SearchID, "b", schema.Called)
		f.Client = "one"
		b.must(b.report(f))
	}
	b.now = b.now.Add(time.Hour)
	b.advance()
	for _, q := range b.memory.tenants["default"].questions {
		if len(q.Seen) != 4 {
			t.Errorf("%d searches of four clients", len(q.Seen))
		}
	}
	if b.outcome(capped) == 0 {
		t.Error("everything counted")
	}
}

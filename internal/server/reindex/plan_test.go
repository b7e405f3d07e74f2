package reindex

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func numbers(p Plan) []int {
	var out []int
	for _, g := range p.Versions {
		out = append(out, g.Number)
	}
	return out
}

func TestAnUpgradeAndOneStepBack(t *testing.T) {
	p := First(Version{Setting: "static", Model: "a"})
	step := func(name string, change func() (Plan, error), target, live int, want ...int) {
		t.Helper()
		next, err := change()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p = next; p.Target != target || p.Live != live || !slices.Equal(numbers(p), want) {
			t.Fatalf("%s: %+v", name, p)
		}
	}
	refuse := func(name string, change func() (Plan, error), why error) {
		t.Helper()
		if next, err := change(); !errors.Is(err, why) || next.Target != p.Target {
			t.Errorf("%s: %v", name, err)
		}
	}
	to := func(model string) func() (Plan, error) {
		return func() (Plan, error) { return p.Next(Version{Setting: "static:" + model, Model: model}) }
	}
	switched := func() (Plan, error) { return p.Switched(p.Target, p.Target), nil }

	refuse("back without another", p.Back, ErrNoOther)
	refuse("finish without another", p.Finish, ErrNoOther)
	refuse("the same", to("a"), ErrSame)
	step("next", to("b"), 2, 1, 1, 2)
	refuse("finish too early", func() (Plan, error) { return p.Finish() }, ErrBuilding)
	step("the live one again", to("a"), 1, 1, 1, 2)
	step("on", func() (Plan, error) { return p.Back() }, 2, 1, 1, 2)
	step("give up", func() (Plan, error) { return p.Back() }, 1, 1, 1, 2)
	step("on by name", to("b"), 2, 1, 1, 2)
	step("another instead", to("c"), 3, 1, 1, 3)
	if late := p.Switched(2, 2); late.Live != 1 {
		t.Error("a replica that was late made a retired version live")
	}
	step("switched", switched, 3, 3, 1, 3)
	step("back", func() (Plan, error) { return p.Back() }, 1, 3, 1, 3)
	step("back, switched", switched, 1, 1, 1, 3)
	step("finish", func() (Plan, error) { return p.Finish() }, 1, 1, 1)
	step("a number is never given twice", to("d"), 4, 1, 1, 4)
	step("learned", func() (Plan, error) { return p.Learned(4, "other", 7), nil }, 4, 1, 1, 4)
	if g, _ := p.Find(4); g.Model != "d" {
		t.Errorf("what is known was overwritten: %+v", g)
	}
	if got := numbers(Plan{Versions: p.Retired}); !slices.Equal(got, []int{2, 3}) || p.Retired[1].Model != "c" {
		t.Errorf("retired are %+v", p.Retired)
	}
}

// Whatever is done to a plan, it can be read back, keeps what is searched, and
// has at most two versions.
func TestPlansStayWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := First(Version{Setting: "static"})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			before := p
			next := p
			var err error
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				next, err = p.Next(Version{Setting: "http:x", Model: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "model")})
			case 1:
				next, err = p.Back()
			case 2:
				next, err = p.Finish()
			case 3:
				next = p.Switched(rapid.IntRange(0, 5).Draw(t, "target"), rapid.IntRange(0, 5).Draw(t, "live"))
			case 4:
				next = p.Learned(p.Target, "a", 3)
			}
			if err != nil {
				continue
			}
			p = next
			raw, err := encode(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decode(raw); err != nil {
				t.Fatal(err)
			}
			for _, g := range before.Versions {
				if last := len(p.Retired) - 1; !p.Has(g.Number) && (last < 0 || p.Retired[last] != g) {
					t.Fatalf("%+v follows %+v, which says nothing of %d", p, before, g.Number)
				}
			}
			if len(p.Retired) > maxRetired {
				t.Fatalf("%d retired versions", len(p.Retired))
			}
			if p.Last < before.Last || !before.Has(p.Live) {
				t.Fatalf("%+v follows %+v", p, before)
			}
		}
	})
}

func TestPlansThatMakeNoSenseAreRefused(t *testing.T) {
	for _, raw := range []string{
		``, `{}`, `[]`, `{"schema":2,"last":1,"live":1,"target":1,"versions":[{"number":1,"setting":"static"}]}`,
		`{"schema":1,"last":1,"live":1,"target":2,"versions":[{"number":1,"setting":"static"}]}`,
		`{"schema":1,"last":1,"live":2,"target":1,"versions":[{"number":1,"setting":"static"}]}`,
		`{"schema":1,"last":1,"live":1,"target":1,"versions":[{"number":1}]}`,
		`{"schema":1,"last":0,"live":1,"target":1,"versions":[{"number":1,"setting":"static"}]}`,
		`{"schema":1,"last":0,"live":0,"target":0,"versions":[]}`,
	} {
		if p, err := decode([]byte(raw)); err == nil {
			t.Errorf("%s is %+v", raw, p)
		}
	}
}

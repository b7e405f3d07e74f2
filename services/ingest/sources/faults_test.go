package sources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
)

// Through a thousand random faults of fifty sources that change meanwhile, nothing is
// deleted that a source has not given up, and in the end the index has what the sources
// list.
func TestNothingIsLostThroughFaults(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	shops := map[string]*shop{}
	for i := range 50 {
		s := newShop(toolNames(10)...)
		s.live = i%2 == 0
		shops[fmt.Sprintf("s%d", i)] = s
	}
	kinds := slices.Sorted(maps.Keys(shops))
	givenUp := map[string]bool{}
	fault := func(s *shop, kind string, n int) {
		switch r.IntN(9) {
		case 0:
			s.fails = errors.New("broken")
		case 1:
			s.closed, s.lost = errors.New("no route"), s.connects
		case 2:
			s.hang = true
		case 3:
			s.fails = source.ErrRefused
		case 4:
			s.extra = make([]source.Document, 20_001)
		case 5:
			s.lost = s.connects
		case 6:
			s.fails, s.closed, s.lost = source.ErrAuth, source.ErrAuth, s.connects
		case 7: // a tool that it has is not as it should be
			for name := range s.tools {
				delete(s.tools, name)
				s.extra = []source.Document{{Name: name, Format: "mcp", Tool: true, Raw: []byte(`{"name":"` + name + `","inputSchema":{"a":1,"a":2}}`)}}
				break
			}
		case 8: // a change, which is none of its faults
			for name := range s.tools {
				if len(s.tools) > 6 {
					delete(s.tools, name)
					givenUp[kind+"/"+name] = true
				}
				break
			}
			s.tools[fmt.Sprintf("new%d", n)] = "Does it."
		}
	}
	heal := func(s *shop) {
		for _, d := range s.extra {
			if d.Name != "" {
				s.tools[d.Name] = "Does " + d.Name + " again."
			}
		}
		s.fails, s.closed, s.hang, s.extra = nil, nil, false, nil
	}
	run(t, Config{Timeout: 10 * time.Second}, shops, func(p *fixture) {
		for _, kind := range kinds {
			p.put(kind, kind, func(s *source.Spec) { s.Every = source.Duration(20 * time.Second) })
		}
		for n := range 1000 {
			kind := kinds[r.IntN(len(kinds))]
			shops[kind].with(func(s *shop) { heal(s); fault(s, kind, n) })
			if shops[kind].live {
				shops[kind].tell()
			}
			p.pass(time.Duration(r.IntN(4000)) * time.Millisecond)
			if n%250 == 100 {
				p.stop()
				p.start(nil)
			}
		}
		for _, kind := range kinds {
			shops[kind].with(heal)
		}
		p.pass(20 * time.Minute)
		var want []string
		for _, kind := range kinds {
			for name := range shops[kind].tools {
				want = append(want, kind+"/"+name)
			}
			p.want(kind, map[bool]State{true: Live, false: Polling}[shops[kind].live], len(shops[kind].tools))
		}
		slices.Sort(want)
		p.wantIndexed(strings.Join(want, " "))
		p.wantDeleted(givenUp)
	})
}

// Wherever a write of the store or of the bus fails, taken or not, the answers to operators hold:
// what was answered is in force here and after a restart, and the index ends with what the source
// lists.
func TestAnswersHoldWhicheverWriteFails(t *testing.T) {
	for name, fail := range map[string]func(p *fixture, n int){
		"the store refuses":         func(p *fixture, n int) { p.store.FailWrite(n, false) },
		"the store does not answer": func(p *fixture, n int) { p.store.FailWrite(n, true) },
		"the bus refuses":           func(p *fixture, n int) { p.bus.Fail(failPublish(n, nil)) },
		"the bus does not answer":   func(p *fixture, n int) { p.bus.Fail(failPublish(n, p.bus)) },
	} {
		for n := range 12 { // the store takes nine writes, the bus fewer
			run(t, Config{}, map[string]*shop{"mcp": newShop("a", "b")}, func(p *fixture) {
				fail(p, n)
				if !declareAll(p) {
					t.Errorf("%s, write %d", name, n)
				}
			})
		}
	}
}

// failPublish makes the n-th call fail, counted from 1; to takes its messages all the same.
func failPublish(n int, to *streamtest.Bus) func(streamtest.Call) error {
	return func(c streamtest.Call) error {
		if c.Op != streamtest.OpPublish {
			return nil
		}
		if n--; n != 0 {
			return nil
		}
		err := errors.New("no answer")
		if to != nil {
			err = errors.Join(err, to.Publish(context.Background(), c.Messages...))
		}
		return err
	}
}

// declareAll declares, changes, pauses and removes a source, and reports whether each answer held.
func declareAll(p *fixture) bool {
	spec := source.Spec{Kind: "mcp", URL: "https://mcp.example/mcp"}
	slower := spec
	slower.Every = source.Duration(time.Minute)
	i := id{home, "s"}
	before, held := "", true
	for _, step := range []struct {
		call func() (Source, error)
		want string
	}{
		{func() (Source, error) { return p.s.put(p.t.Context(), i, spec) }, "0s false"},
		{func() (Source, error) { return p.s.put(p.t.Context(), i, slower) }, "1m0s false"},
		{func() (Source, error) { return p.s.pause(p.t.Context(), i, true) }, "1m0s true"},
		{func() (Source, error) { return p.s.pause(p.t.Context(), i, false) }, "1m0s false"},
		{func() (Source, error) { return p.s.remove(p.t.Context(), i, false) }, ""},
	} {
		for failed := 0; ; failed++ {
			_, err := step.call()
			p.pass(2 * time.Minute)
			here := shownForm(p, i)
			p.stop()
			p.start(nil)
			p.pass(2 * time.Minute)
			restarted := shownForm(p, i)
			taken := restarted == step.want
			if here != restarted || !taken && (err == nil || restarted != before) {
				p.t.Errorf("want %q after %q: %q here, %q after a restart; the answer: %v", step.want, before, here, restarted, err)
				held = false
			}
			if taken {
				break
			}
			if failed == 2 {
				p.t.Fatalf("want %q: still %v", step.want, err)
			}
		}
		before = step.want
		if tools := p.indexed(); tools != "s/a s/b" && step.want != "" || tools != "" && step.want == "" {
			p.t.Errorf("after %q the index has %q", step.want, tools)
			held = false
		}
	}
	return held
}

// shownForm returns how often a source is looked at and whether it is paused; "" if it is gone.
func shownForm(p *fixture, i id) string {
	s, there := p.s.One(i.tenant, i.name)
	if !there {
		return ""
	}
	return fmt.Sprint(time.Duration(s.Every), " ", s.Paused)
}

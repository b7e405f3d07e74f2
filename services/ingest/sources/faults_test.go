package sources

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
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

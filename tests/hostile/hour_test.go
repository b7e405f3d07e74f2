package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

const (
	attackers = 4 // attacks at once
	idleFor   = 20 * time.Second

	// Searches under attack may take slower times what they take when idle. On a machine with
	// other work, quicker searches than the floor say nothing.
	slower = 5
	floor  = 20 * time.Millisecond

	searchEvery = 100 * time.Millisecond // of each honest tenant
	callEvery   = 500 * time.Millisecond
	putEvery    = time.Second
)

// honestly is what honest callers saw.
type honestly struct {
	mu       sync.Mutex
	searches []time.Duration
	requests int
	failures []string
}

func (h *honestly) note(what string, took time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	if what == "search" {
		h.searches = append(h.searches, took)
	}
	if err != nil {
		h.failures = append(h.failures, fmt.Sprintf("%s after %s: %v", what, took.Round(time.Millisecond), err))
	}
}

// at returns a quantile of the times of searches.
func (h *honestly) at(q float64) time.Duration {
	slices.Sort(h.searches)
	return h.searches[int(q*float64(len(h.searches)-1))]
}

func (h *honestly) String() string {
	return fmt.Sprintf("%d requests, %d failed; %d searches: median %s, 99%% %s, at most %s", h.requests, len(h.failures), len(h.searches),
		h.at(.5).Round(10*time.Microsecond), h.at(.99).Round(10*time.Microsecond), h.at(1).Round(time.Millisecond))
}

// settle gives each honest tenant tools, which it follows or has sent.
func (s *site) settle(t *testing.T, servers *strangers) {
	t.Helper()
	for _, c := range s.honest {
		spec := source.Spec{Kind: source.MCP, URL: servers.URL + "/honest/mcp", AllowPrivate: true}
		check.OK(t, c.Put(t.Context(), "/v1/sources/shop", spec, nil))
		for n := range 300 {
			check.OK(t, s.put(t.Context(), c, n))
		}
		process.Await(t, "tools of the honest", func() (bool, error) {
			_, err := c.Call(t.Context(), "shop/unique", boxes())
			return err == nil, found(err)
		})
	}
}

func boxes() schema.CallRequest { return schema.CallRequest{Arguments: json.RawMessage(`{"a":[1]}`)} }

func (s *site) put(ctx context.Context, c *client.Client, n int) error {
	document := json.RawMessage(tool(fmt.Sprint("tide_", n), fmt.Sprintf("Shows the tides of harbour %d for a day, at %s.", n, time.Now()), `{"type":"object","properties":{"day":{"type":"string"}}}`))
	return c.Put(ctx, client.Path("/v1/tools", fmt.Sprint("sea/tide_", n)), document, nil)
}

// behave lets the honest tenants search, call and send for a time, each request at its time,
// however long those before it take.
func (s *site) behave(ctx context.Context, d time.Duration) *honestly {
	h := &honestly{}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var all sync.WaitGroup
	every := func(pause time.Duration, what string, do func(ctx context.Context, n int) error) {
		all.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-tick.C:
					all.Go(func() {
						begin := time.Now()
						err := do(context.WithoutCancel(ctx), n)
						h.note(what, time.Since(begin), err)
					})
				case <-ctx.Done():
					return
				}
			}
		})
	}
	for _, c := range s.honest {
		every(searchEvery, "search", func(ctx context.Context, n int) error {
			answer, err := c.Search(ctx, schema.SearchRequest{Query: fmt.Sprint("when is high water in harbour ", n%300)})
			if err == nil && len(answer.Results) == 0 {
				err = fmt.Errorf("nothing is found")
			}
			return err
		})
		every(callEvery, "call", func(ctx context.Context, _ int) error {
			answer, err := c.Call(ctx, "shop/unique", boxes())
			if err == nil && answer.Outcome != schema.CallOK {
				err = fmt.Errorf("the outcome is %s", answer.Outcome)
			}
			return err
		})
		every(putEvery, "put", func(ctx context.Context, n int) error { return s.put(ctx, c, n%300) })
	}
	all.Wait()
	return h
}

// record is what came of a kind.
type record struct {
	attempts  int
	outcomes  map[string]int
	processor time.Duration // of one attempt alone
	memory    int64         // more bytes at its peak, of one attempt alone
	took      time.Duration // of all attempts
}

// report is what came of all kinds.
type report struct {
	mu sync.Mutex
	of map[string]*record
}

// run makes an attack and records what came of it.
func (p *report) run(ctx context.Context, k kind, n, seed uint64) *record {
	ctx, cancel := context.WithTimeout(ctx, giveUp)
	defer cancel()
	begin := time.Now()
	came := k.attack(ctx, random(seed, n))
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.of[k.name]
	if r == nil {
		r = &record{outcomes: map[string]int{}}
		p.of[k.name] = r
	}
	r.attempts++
	r.outcomes[came]++
	r.took += time.Since(begin)
	return r
}

func (p *report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nkind\tattempts\toutcomes\tprocessor, alone\tmemory, alone\tmean time")
	for _, name := range slices.Sorted(maps.Keys(p.of)) {
		r := p.of[name]
		var outcomes []string
		for _, came := range slices.Sorted(maps.Keys(r.outcomes)) {
			outcomes = append(outcomes, fmt.Sprintf("%s: %d", came, r.outcomes[came]))
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%d MB\t%s\n", name, r.attempts, strings.Join(outcomes, ", "), r.processor, r.memory>>20, (r.took / time.Duration(r.attempts)).Round(time.Millisecond))
	}
	_ = w.Flush() // a strings.Builder takes everything
	return b.String()
}

// chosen are the kinds of this run.
func (a *attacker) chosen(t *testing.T) (out []kind) {
	t.Helper()
	of := strings.Split(os.Getenv("TOOLSTREAM_HOSTILE_KINDS"), ",")
	for _, k := range a.kinds() {
		if slices.ContainsFunc(of, func(prefix string) bool { return strings.HasPrefix(k.name, prefix) }) {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no kind of %q", of)
	}
	return out
}

// alone makes each attack once while nothing else happens, which shows its cost.
func (a *attacker) alone(t *testing.T, kinds []kind, p *report, seed uint64) {
	t.Helper()
	for i, k := range kinds {
		a.ResetPeak(t)
		before, _ := a.Resident(t)
		used := a.Processor(t)
		ctx, cancel := context.WithTimeout(t.Context(), 2*holdAtMost)
		r := p.run(ctx, k, uint64(i), seed)
		cancel()
		_, peak := a.Resident(t)
		r.processor, r.memory = a.Processor(t)-used, peak-before
	}
}

// attack draws attacks at random, some at once, until ctx ends.
func (a *attacker) attack(ctx context.Context, kinds []kind, p *report, seed uint64) (wait func()) {
	var all sync.WaitGroup
	for of := range uint64(attackers) {
		all.Go(func() {
			r := random(seed, 1_000+of)
			for ctx.Err() == nil {
				p.run(context.WithoutCancel(ctx), pick(r, kinds), r.Uint64(), seed)
			}
		})
	}
	return all.Wait
}

// Beside attackers, honest tenants get no failure and searches that are not much slower than
// without them; the process stays within its memory and comes back to its start.
func TestTheHonestNoticeNothing(t *testing.T) {
	level.Campaign(t)
	seed := seeded(t)
	a := &attacker{site: open(t), servers: newStrangers(t)}
	a.settle(t, a.servers)
	kinds := a.chosen(t)
	idle := a.behave(t.Context(), idleFor)
	a.leave()
	before := a.size(t)
	a.prepare(t)
	p := &report{of: map[string]*record{}}
	a.alone(t, kinds, p, seed)
	alone := a.size(t)
	a.ResetPeak(t)
	ctx, stop := context.WithTimeout(t.Context(), length(t))
	defer stop()
	stopped := a.attack(ctx, kinds, p, seed)
	under := a.behave(ctx, length(t))
	stopped()
	t.Logf("idle:  %s\nunder: %s\nmost alone: %d MB%s", idle, under, alone.peak>>20, p)
	check.OK(t, a.root.Delete(t.Context(), "/v1/tenants/evil?confirm=evil", nil))
	a.settled(t, before)
	for _, f := range append(idle.failures, under.failures...)[:min(20, len(idle.failures)+len(under.failures))] {
		t.Errorf("an honest caller: %s", f)
	}
	if most := slower * max(floor, idle.at(.99)); under.at(.99) > most {
		t.Errorf("the 99th percentile of honest searches is %s, more than %s", under.at(.99), most)
	}
	if n := a.servers.stolen.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere by a redirect", n)
	}
}

// While more sockets than a process accepts wait with unread answers, probes and searches are
// answered, with a token and without.
func TestUnreadSocketsKeepNobodyOut(t *testing.T) {
	level.Campaign(t)
	seed := seeded(t)
	a := &attacker{site: open(t)}
	check.OK(t, a.put(t.Context(), a.honest[0], 1))
	before := a.size(t)
	nobody := client.Client{Server: a.Process.Client.Server, HTTP: a.Process.Client.HTTP}
	for round := range 3 {
		came := a.sockets(t.Context(), random(seed, uint64(round)), func() {
			ctx, cancel := context.WithTimeout(t.Context(), giveUp)
			defer cancel()
			for range 20 {
				begin := time.Now()
				body, _, err := nobody.Send(ctx, http.MethodGet, "/healthz", nil, "", nil)
				if err == nil {
					err = discard(body)
				}
				_, searched := a.honest[0].Search(ctx, schema.SearchRequest{Query: "high water"})
				a.leave() // the next search is on a new connection
				_, refused := nobody.Search(ctx, schema.SearchRequest{Query: "high water"})
				if err != nil || searched != nil || outcome(refused) != "401" {
					t.Fatalf("after %s: /healthz %v, a search with a token %v, without %v", time.Since(begin), err, searched, refused)
				}
			}
			t.Log(a.size(t))
		})
		t.Log(came)
	}
	a.settled(t, before)
}

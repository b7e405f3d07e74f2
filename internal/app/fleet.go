package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/generations"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
)

// planFile is where a process that runs apart remembers the plan.
const planFile = "generations.json"

// generationBus is what generations need of the bus.
type generationBus interface {
	bus
	stream.Topics
	// Committed returns how far a group has come in each partition.
	Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error)
}

// fleet is the generations at work in this process. It follows the plan: what is
// in it is opened and kept up to date, what is not is closed and removed, and the
// target is searched as soon as it is complete.
type fleet struct {
	*base
	bus      generationBus
	planner  *generations.Planner
	dead     *deadletter.Box  // nil where nothing is searched
	vectors  *weaviate.Client // nil: there is none
	embeds   bool
	searches bool

	query  *query.Service                              // nil where nothing is searched
	others func(context.Context) []generations.Replica // nil: this process is the only one

	round roundState // of run alone

	mu       sync.Mutex // guards what follows
	at       map[int]*generation
	live     *generation                      // that is searched; where nothing is searched, that queries are embedded for
	problems map[int]string                   // of generations that can not be opened, and why
	lacks    map[int]*generations.Outstanding // by generation, what it lacked when it was looked at last
}

// roundState is what run remembers from round to round.
type roundState struct {
	check   *generations.Check
	target  int               // that check is about
	passed  int               // the generation that is not gone to on the way to the target
	wanted  map[int]uint64    // that Weaviate has to have, once asked
	later   time.Time         // when writers may be held up again
	took    time.Duration     // of the last look
	left    int               // that was outstanding after they were held up in vain
	seen    int               // that was outstanding at the last look
	seenAt  time.Time         // when that was
	retry   map[int]time.Time // when a generation is tried again
	patient map[int]int       // how often it failed
	swept   *generations.Plan // after which everything retired is gone
	realias time.Time         // when the alias in Weaviate is tried again
	aliased int               // the generation that Weaviate's alias stands for
	told    map[string]string // what the log has heard
}

// newFleet returns the fleet of a process, with the plan that it knows.
func newFleet(b *base, on generationBus, store generations.Store, file string) (*fleet, error) {
	if file != "" {
		file = filepath.Join(b.cfg.Data, file)
	}
	first := generations.First(generations.Generation{Setting: settingOf(b.cfg.Embedder)})
	planner, err := generations.New(store, first, file, b.log)
	if err != nil {
		return nil, err
	}
	return &fleet{
		base: b, bus: on, planner: planner, at: map[int]*generation{}, problems: map[int]string{}, lacks: map[int]*generations.Outstanding{},
		round: roundState{retry: map[int]time.Time{}, patient: map[int]int{}, told: map[string]string{}},
	}, nil
}

// How long a process waits for the store at its start: one that knows the plan
// from before, so that it does not begin with what was retired meanwhile, and one
// that knows none.
const (
	keptPatience  = 2 * time.Second
	firstPatience = 5 * time.Second
)

// learnPlan asks the store for the plan. What changes later comes with the watch.
func (f *fleet) learnPlan(ctx context.Context) {
	patience := firstPatience
	if f.planner.Known() {
		patience = keptPatience
	}
	deadline := time.Now().Add(patience)
	for {
		err := f.planner.Read(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if time.Now().After(deadline) {
			f.log.Warn("the plan of embedding models can not be read: what was known of it holds until it can", "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// open opens the generation to begin with: the one that was searched last.
func (f *fleet) open(ctx context.Context) error {
	plan, _ := f.planner.Plan()
	number := f.planner.Serving()
	if !plan.Has(number) {
		number = plan.Live
	}
	g, _ := plan.Find(number)
	f.warnOfOthers(plan, g)
	opened, err := f.openGeneration(ctx, g)
	if other := (*otherModelError)(nil); errors.As(err, &other) {
		f.log.Error("searches go by words alone, and what is new waits", "error", other)
		f.problems[number] = other.Error()
		opened, err = f.openWithout(ctx, other.generation)
	}
	if err != nil {
		return fmt.Errorf("embedding model %s: %w", g.Setting, err)
	}
	f.at[number], f.live = opened, opened
	f.begin(ctx)
	return nil
}

// warnOfOthers says it where the settings name another model than the plan.
func (f *fleet) warnOfOthers(plan generations.Plan, live generations.Generation) {
	own := settingOf(f.cfg.Embedder)
	target, _ := plan.Find(plan.Target)
	if own != live.Setting && own != target.Setting {
		f.log.Warn(fmt.Sprintf("embedder.model is %s, but searches use %s: change it with `toolstream reindex --model %s`", own, live.Setting, own),
			"generation", live.Number, "model", live.Model)
	}
}

// begin writes down what the first model turned out to be, where the store has no
// plan. It reports whether the store knows the plan.
func (f *fleet) begin(ctx context.Context) bool {
	plan, _ := f.planner.Plan()
	g := f.live.Generation
	ctx, cancel := context.WithTimeout(ctx, firstPatience)
	defer cancel()
	err := f.planner.Begin(ctx, plan.Learned(g.Number, g.Model, g.Dimensions))
	if err != nil {
		f.tell("begin", "the plan of embedding models can not be written down yet", err)
	}
	return err == nil
}

// Live returns the generation that is searched.
func (f *fleet) Live() *generation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live
}

// Described returns the tools that a query is shown to a language model with.
func (f *fleet) Described(ctx context.Context, tenant, words string, filters schema.Filters, n int) ([]schema.Entity, error) {
	return f.Live().index.Described(ctx, tenant, words, filters, n)
}

// Handle answers an embed request with the model that is searched by.
func (f *fleet) Handle(ctx context.Context, tenant string, body []byte) ([]byte, error) {
	live := f.Live()
	if live.stage == nil {
		return nil, fmt.Errorf("the model of generation %d is not there", live.Number)
	}
	return live.stage.Handle(ctx, tenant, body)
}

// Gather implements prometheus.Gatherer for the process and its generations.
func (f *fleet) Gather() ([]*dto.MetricFamily, error) {
	f.mu.Lock()
	all := prometheus.Gatherers{f.metrics}
	for _, g := range f.at {
		all = append(all, g.metrics)
	}
	f.mu.Unlock()
	return all.Gather()
}

// Pace of the rounds.
const (
	busyPace  = 100 * time.Millisecond // while something is to be done
	quietPace = 30 * time.Second
	retryMost = 30 * time.Second // between two tries to open a generation
)

// run follows the plan until ctx ends, or what is searched can not go on.
func (f *fleet) run(ctx context.Context) error {
	defer f.halt()
	f.start(f.Live())
	for {
		changed := f.planner.Changed()
		pace := f.step(ctx)
		select {
		case <-ctx.Done():
			return nil
		case err := <-f.Live().broken:
			return err
		case <-changed:
		case <-time.After(pace):
		}
	}
}

// halt ends the work of all generations. What ends may ask which one is live
// before it does, so it is waited for without the lock.
func (f *fleet) halt() {
	f.mu.Lock()
	all := slices.Collect(maps.Values(f.at))
	f.mu.Unlock()
	for _, g := range all {
		g.halt()
	}
}

// close closes all generations.
func (f *fleet) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, g := range f.at {
		g.drained = nil // nothing searches any more
		errs = append(errs, g.close())
	}
	f.at = map[int]*generation{}
	return errors.Join(errs...)
}

// step brings the process closer to the plan, and returns when to go on.
func (f *fleet) step(ctx context.Context) time.Duration {
	pace := quietPace
	if _, heard := f.planner.Plan(); !heard && !f.begin(ctx) {
		pace = time.Second
	}
	plan, heard := f.planner.Plan()
	done := true
	for _, g := range plan.Generations {
		done = f.ensure(ctx, g) && done
	}
	retired := f.retire(plan)
	if f.searches {
		done = f.follow(ctx, plan) && done
	} else {
		f.embedFor(plan)
	}
	if heard && retired {
		done = f.sweep(ctx, plan) && done
	}
	if !done || !retired {
		pace = max(busyPace, 10*f.round.took)
	}
	return pace
}

// ensure opens and starts a generation of the plan, and reports whether it is at
// work.
func (f *fleet) ensure(ctx context.Context, g generations.Generation) bool {
	f.mu.Lock()
	there := f.at[g.Number]
	f.mu.Unlock()
	if there != nil {
		return f.alive(there)
	}
	if time.Now().Before(f.round.retry[g.Number]) {
		return false
	}
	opened, err := f.openGeneration(ctx, g)
	if err != nil {
		f.failed(g.Number, fmt.Errorf("embedding model %s: %w", g.Setting, err))
		return false
	}
	f.log.Info("a generation is kept up to date", "generation", g.Number, "setting", g.Setting, "model", opened.Model, "dimensions", opened.Dimensions)
	f.mu.Lock()
	f.at[g.Number] = opened
	delete(f.problems, g.Number)
	f.mu.Unlock()
	f.round.patient[g.Number] = 0
	f.round.swept = nil
	f.start(opened)
	return true
}

// alive reports whether a generation beside the live one works; one that does not
// is closed, to be opened again later.
func (f *fleet) alive(g *generation) bool {
	if g == f.Live() {
		return true
	}
	select {
	case err := <-g.broken:
		f.forget(g)
		f.failed(g.Number, errors.Join(err, g.close()))
		return false
	default:
		return true
	}
}

func (f *fleet) forget(g *generation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.at, g.Number)
	delete(f.lacks, g.Number)
	if f.round.target == g.Number {
		f.round.check = nil
		if f.live.gate != nil {
			f.live.gate.Watch(nil) // it would keep the index in memory
		}
	}
}

// failed notes why a generation is not at work, and when it is tried again. It
// never hurts the live one.
func (f *fleet) failed(number int, err error) {
	f.mu.Lock()
	f.problems[number] = err.Error()
	f.mu.Unlock()
	n := f.round.patient[number]
	f.round.patient[number]++
	f.round.retry[number] = time.Now().Add(min(retryMost, time.Second<<min(n, 6)))
	f.tell(fmt.Sprint("generation ", number), "a generation is not at work; searches go on with the live one", err)
}

// tell logs what is new about something that fails again and again.
func (f *fleet) tell(about, text string, err error) {
	if said := err.Error(); f.round.told[about] != said {
		f.round.told[about] = said
		f.log.Error(text, "about", about, slog.Any("error", err))
	}
}

// embedFor lets queries of other processes be embedded for what is searched.
func (f *fleet) embedFor(plan generations.Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g := f.at[plan.Live]; g != nil {
		f.live = g
	}
}

// searchedModel returns the name of the model that is searched by, which the plan
// knows once any process has loaded it.
func (f *fleet) searchedModel(ctx context.Context) (string, error) {
	plan, _ := f.planner.Plan()
	g, _ := plan.Find(plan.Live)
	if g.Model != "" {
		return g.Model, nil
	}
	probed, err := f.probe(ctx, g.Setting)
	return probed.Model, err
}

// serving keeps the trainer told of the model that is searched by.
func (f *fleet) serving(t *trainer.Service) part {
	return part{"searched model", func(ctx context.Context) error {
		for {
			changed := f.planner.Changed()
			plan, _ := f.planner.Plan()
			if g, _ := plan.Find(plan.Live); g.Model != "" {
				t.Serve(g.Model)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			}
		}
	}}
}

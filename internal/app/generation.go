package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/generations"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/query"
)

// generation is an index of one embedding model at work in this process: what
// embeds for it, and what is searched in it, whichever the process does.
type generation struct {
	generations.Generation
	model   embedder.Model
	metrics *prometheus.Registry
	opened  []io.Closer // in the order of opening
	parts   []part      // consumers before producers

	stage *embedder.Service // nil where documents are not embedded
	index *flat.Index       // nil where nothing is searched
	gate  *generations.Gate
	view  query.View

	stop    func()     // ends the parts and waits for them; nil: they do not run
	broken  chan error // why the parts ended by themselves
	drained func()     // waits for the searches that may use it; nil: none can
}

// otherModelError says that a setting names another model than a generation is
// of: its file was replaced, or the program with what is compiled in.
type otherModelError struct {
	generation generations.Generation
	found      embedder.Model
}

func (e *otherModelError) Error() string {
	g := e.generation
	if e.found == nil {
		return fmt.Sprintf("the folder of generation %d holds an index of the model %s (%d dimensions), which is neither what the plan says nor what %s is here", g.Number, g.Model, g.Dimensions, g.Setting)
	}
	return fmt.Sprintf("generation %d is of the model %s (%d dimensions), but %s is %s (%d) here: put that model in place again, or change to this one with `toolstream reindex --model %s`",
		g.Number, g.Model, g.Dimensions, g.Setting, e.found.Name(), e.found.Dimensions(), g.Setting)
}

// openGeneration loads the model and opens the index. After an error nothing is
// left open.
func (f *fleet) openGeneration(ctx context.Context, g generations.Generation) (_ *generation, err error) {
	o := &generation{Generation: g, metrics: prometheus.NewRegistry(), broken: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	if err := f.openModel(ctx, o); err != nil {
		return nil, err
	}
	if f.searches {
		if err := f.openIndex(ctx, o); err != nil {
			return nil, err
		}
	}
	if f.embeds {
		if err := f.openStage(o); err != nil {
			return nil, err
		}
	}
	return o, f.openView(o)
}

// openWithout opens the index of a generation whose model is not there any more:
// words are searched, and what is new waits for a generation that can be embedded.
func (f *fleet) openWithout(ctx context.Context, g generations.Generation) (_ *generation, err error) {
	o := &generation{Generation: g, metrics: prometheus.NewRegistry(), broken: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	if f.searches {
		if err := f.openIndex(ctx, o); err != nil {
			return nil, err
		}
	}
	return o, f.openView(o)
}

func (f *fleet) openModel(ctx context.Context, o *generation) error {
	cfg, err := withModel(f.cfg, o.Generation)
	if err != nil {
		return err
	}
	model, closer, err := NewModel(ctx, cfg)
	if err != nil {
		return err
	}
	o.opened = append(o.opened, closer)
	if o.Model != "" && (o.Model != model.Name() || o.Dimensions != model.Dimensions()) {
		return &otherModelError{o.Generation, model}
	}
	o.model, o.Model, o.Dimensions = model, model.Name(), model.Dimensions()
	return nil
}

// registerer is where the generation's figures go. Those of the first one have no
// label, as if there never were another.
func (g *generation) registerer() prometheus.Registerer {
	if g.Number == 1 {
		return g.metrics
	}
	return prometheus.WrapRegistererWith(prometheus.Labels{"generation": strconv.Itoa(g.Number)}, g.metrics)
}

func (f *fleet) openIndex(ctx context.Context, g *generation) (err error) {
	folder := f.folder(g.Number)
	g.index, err = flat.Open(ctx, flat.Config{Path: folder, Logger: f.log, Registerer: g.registerer()})
	if err != nil {
		return err
	}
	g.opened = append(g.opened, g.index)
	if built, dimensions := g.index.Model(); built != "" && (built != g.Model || dimensions != g.Dimensions) {
		g.Model, g.Dimensions = built, dimensions
		return &otherModelError{g.Generation, g.model}
	}
	g.gate = generations.NewGate(g.index)
	writer, err := embedder.NewIndexWriter(embedder.WriterDeps{
		Generation: g.Number, Index: g.gate, Searched: func() bool { return f.Live() == g }, Follower: f.bus, Publisher: f.bus, Logger: f.log, Registerer: g.registerer(),
		Traces: f.traces.Provider(),
	})
	if err != nil {
		return err
	}
	g.parts = append(g.parts, part{"index writer", writer.Run})
	return nil
}

func (f *fleet) openStage(g *generation) (err error) {
	var stored embedder.Cache
	if g.index != nil {
		stored = g.index
	}
	g.stage, err = embedder.New(embedder.Config{Generation: g.Number}, embedder.Deps{
		Model: g.model, Cache: stored, Groups: f.bus, Ends: f.bus, Publisher: f.bus, Logger: f.log, Registerer: g.registerer(),
		Traces: f.traces.Provider(),
	})
	if err != nil {
		return err
	}
	if f.vectors != nil {
		if err := f.openProposals(g); err != nil {
			return err
		}
	}
	g.parts = append(g.parts, part{"embedder", g.stage.Run})
	return nil
}

// openProposals lets Weaviate have what is embedded.
func (f *fleet) openProposals(g *generation) error {
	p, err := newProposals(events.Embedded(g.Number), func(ctx context.Context) (*weaviate.Index, error) {
		return weaviate.OpenIndex(ctx, f.vectors, classOf(g.Generation), weaviate.Deps{Logger: f.log, Registerer: g.registerer()})
	}, stream.Deps{Groups: f.bus, Ends: f.bus, Publisher: f.bus, Logger: f.log, Registerer: g.registerer(), Traces: f.traces.Provider()})
	if err != nil {
		return err
	}
	g.opened = append(g.opened, closing(p.close))
	g.parts = append(g.parts, part{"proposals", p.run})
	return nil
}

// classOf is what Weaviate keeps a generation's vectors by.
func classOf(g generations.Generation) weaviate.Model {
	return weaviate.Model{Name: g.Model, Dimensions: g.Dimensions}
}

// openView makes what searches see.
func (f *fleet) openView(g *generation) error {
	if g.index == nil {
		return nil
	}
	g.view = query.View{Model: g.Model, Index: g.index, Catalogue: g.index}
	if g.stage != nil {
		g.view.Embedder = g.stage
	} else if g.model != nil {
		asked, err := embedder.NewEncoder(embedder.Config{}, g.model, g.registerer())
		if err != nil {
			return err
		}
		g.view.Embedder = asked
	}
	if f.cfg.Vectors() == config.VectorsWeaviate && f.vectors != nil {
		searched, err := weaviate.NewSearch(f.vectors, g.index, f.log)
		if err != nil {
			return err
		}
		g.view.Index = searched
	}
	return nil
}

// start makes the topic, and lets the parts work until stop is called or one of
// them fails.
func (f *fleet) start(g *generation) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.createTopic(ctx, g.Number)
		if ctx.Err() != nil {
			return
		}
		if err := runParts(ctx, g.parts); err != nil {
			g.broken <- err
		}
	}()
	g.stop = func() { cancel(); <-ended }
}

// createTopic tries until it is there or ctx ends.
func (f *fleet) createTopic(ctx context.Context, number int) {
	said := false
	_ = backoff.RetryNotify(func() error { return f.bus.Create(ctx, events.Embedded(number)) },
		backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0)), ctx),
		func(err error, _ time.Duration) {
			if !said {
				f.log.Warn("the topic of a generation is not there yet", "generation", number, "error", err)
			}
			said = true
		})
}

// halt ends the parts, if they run.
func (g *generation) halt() {
	if g.stop != nil {
		g.stop()
		g.stop = nil
	}
}

// leave notes that searches go elsewhere from now on: those that began before are waited
// for, of an earlier time that it was searched, too.
func (g *generation) leave(wait func()) {
	before := g.drained
	g.drained = func() {
		if before != nil {
			before()
		}
		wait()
	}
}

// close ends everything, once no search uses it.
func (g *generation) close() error {
	g.halt()
	if g.drained != nil {
		g.drained()
	}
	var errs []error
	for _, c := range slices.Backward(g.opened) {
		errs = append(errs, c.Close())
	}
	g.opened = nil
	return errors.Join(errs...)
}

// folder is where the index of a generation lies.
func (f *fleet) folder(number int) string {
	return filepath.Join(f.cfg.Data, events.Numbered(IndexFolder, number))
}

// folders returns the numbers of the generations that have a folder.
func (f *fleet) folders() ([]int, error) {
	entries, err := os.ReadDir(f.cfg.Data)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), IndexFolder)
		if n := (events.ToolsEmbedded + events.Topic(rest)).Generation(); ok && n > 0 {
			found = append(found, n)
		}
	}
	return found, nil
}

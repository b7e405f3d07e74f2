package indexmgr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/embedding"
	"github.com/toolstream/toolstream/internal/rungroup"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/query"
)

// Instance is an index version at work in this process: its embedding stage and its index,
// whichever the process has.
type Instance struct {
	Version
	Index    *flat.Index    // nil where nothing is searched
	Snapshot query.Snapshot // that searches use

	model    embedder.Model
	metrics  *prometheus.Registry
	opened   []io.Closer // in the order of opening
	services []rungroup.Service
	stage    *embedder.Service     // nil where documents are not embedded
	writer   *embedder.IndexWriter // nil where nothing is searched
	writes   *pausedIndex          // that the writer writes to
	sink     *weaviateSink         // nil where nothing is written to Weaviate

	stop    func()       // ends the services and waits for them; nil: they do not run
	broken  chan error   // why the services ended by themselves
	drained func()       // waits for the searches that may use it; nil: none can
	users   sync.RWMutex // read-locked by each that uses it beside what is searched
}

// pausedIndex is an index whose writes can be held up.
type pausedIndex struct {
	*flat.Index
	mu sync.Mutex // held during a write, and while writes are held up
}

// Apply implements embedder.Index.
func (p *pausedIndex) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Index.Apply(ctx, changes, through)
}

// otherModelError says that a setting names another model than a version was built with:
// its file was replaced, or the program with the model that is compiled in.
type otherModelError struct {
	version Version
	found   embedder.Model
}

func (e *otherModelError) Error() string {
	v := e.version
	if e.found == nil {
		return fmt.Sprintf("the folder of index version %d holds vectors of the model %s (%d dimensions), which is neither the model in the plan nor %s here", v.Number, v.Model, v.Dimensions, v.Setting)
	}
	return fmt.Sprintf("index version %d has vectors of the model %s (%d dimensions), but %s is %s (%d) here: put that model in place again, or change to this one with `toolstream reindex --model %s`",
		v.Number, v.Model, v.Dimensions, v.Setting, e.found.Name(), e.found.Dimensions(), v.Setting)
}

// openInstance opens the index of a version and, if wanted, its model. Without the model
// searches go by words, and new documents wait for a version that can be embedded. After an
// error nothing is left open.
func (m *Manager) openInstance(ctx context.Context, v Version, withModel bool) (_ *Instance, err error) {
	in := &Instance{Version: v, metrics: prometheus.NewRegistry(), broken: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.close())
		}
	}()
	if withModel {
		if err := m.openModel(ctx, in); err != nil {
			return nil, err
		}
	}
	if m.Searches {
		if err := m.openIndex(ctx, in); err != nil {
			return nil, err
		}
	}
	if m.Embeds && withModel {
		if err := m.openStage(in); err != nil {
			return nil, err
		}
	}
	return in, m.openSnapshot(in)
}

func (m *Manager) openModel(ctx context.Context, in *Instance) error {
	cfg, err := embedding.With(m.Settings, in.Setting, in.Dimensions)
	if err != nil {
		return err
	}
	model, closer, err := embedding.Open(ctx, cfg)
	if err != nil {
		return err
	}
	in.opened = append(in.opened, closer)
	if in.Model != "" && (in.Model != model.Name() || in.Dimensions != model.Dimensions()) {
		return &otherModelError{in.Version, model}
	}
	in.model, in.Model, in.Dimensions = model, model.Name(), model.Dimensions()
	return nil
}

// registerer is where the metrics of the version go. Those of the first version have no
// label.
func (in *Instance) registerer() prometheus.Registerer {
	if in.Number == 1 {
		return in.metrics
	}
	return prometheus.WrapRegistererWith(prometheus.Labels{"index_version": strconv.Itoa(in.Number)}, in.metrics)
}

func (m *Manager) openIndex(ctx context.Context, in *Instance) (err error) {
	in.Index, err = flat.Open(ctx, flat.Config{
		Path: m.folder(in.Number), Logger: m.Logger, Registerer: in.registerer(), WordsOnly: m.SearchesWeaviate(),
	})
	if err != nil {
		return err
	}
	in.opened = append(in.opened, in.Index)
	if built, dimensions := in.Index.Model(); built != "" && (built != in.Model || dimensions != in.Dimensions) {
		in.Model, in.Dimensions = built, dimensions
		return &otherModelError{in.Version, in.model}
	}
	in.writes = &pausedIndex{Index: in.Index}
	deps := embedder.WriterDeps{
		IndexVersion: in.Number, Index: in.writes, Searched: func() bool { return m.Live() == in }, Follower: m.Bus, Publisher: m.Bus, Logger: m.Logger, Registerer: in.registerer(),
		Traces: m.Traces,
	}
	if m.Shared {
		repairer := stream.NewRepairer(stream.Deps{Follower: m.Bus, Publisher: m.Bus, Logger: m.Logger, Registerer: in.registerer()},
			events.ToolsRaw, events.ToolsStandardized, events.Embedded(in.Number))
		deps.Observe, deps.Newest = repairer.Observe, in.Index.Version
		in.services = append(in.services, rungroup.Service{Name: "order repair", Run: repairer.Run})
	}
	if in.writer, err = embedder.NewIndexWriter(deps); err != nil {
		return err
	}
	in.services = append(in.services, rungroup.Service{Name: "index writer", Run: in.writer.Run})
	return nil
}

func (m *Manager) openStage(in *Instance) (err error) {
	var cache embedder.Cache
	if in.Index != nil && !m.SearchesWeaviate() {
		cache = in.Index
	}
	in.stage, err = embedder.New(embedder.Config{IndexVersion: in.Number}, embedder.Deps{
		Model: in.model, Cache: cache, Groups: m.Bus, Publisher: m.Bus, Logger: m.Logger, Registerer: in.registerer(),
		Traces: m.Traces,
	})
	if err != nil {
		return err
	}
	if m.Vectors != nil {
		in.sink = newWeaviateSink(events.Embedded(in.Number), func(ctx context.Context) (*weaviate.Index, error) {
			return weaviate.OpenIndex(ctx, m.Vectors, classOf(in.Version))
		}, stream.Deps{Groups: m.Bus, Publisher: m.Bus, Logger: m.Logger, Registerer: in.registerer(), Traces: m.Traces})
		in.services = append(in.services, rungroup.Service{Name: "weaviate sink", Run: in.sink.run})
	}
	in.services = append(in.services, rungroup.Service{Name: "embedder", Run: in.stage.Run})
	return nil
}

// classOf identifies the vectors of a version in Weaviate.
func classOf(v Version) weaviate.Model {
	return weaviate.Model{Name: v.Model, Dimensions: v.Dimensions}
}

// SearchesWeaviate reports whether vectors are searched in Weaviate, so that the index of
// the process needs none.
func (m *Manager) SearchesWeaviate() bool {
	return m.Settings.Query.Vectors == config.VectorsWeaviate && m.Vectors != nil
}

// openSnapshot makes the snapshot that searches use.
func (m *Manager) openSnapshot(in *Instance) error {
	if in.Index == nil {
		return nil
	}
	in.Snapshot = query.Snapshot{Model: in.Model, Index: in.Index, Catalogue: in.Index, Embedder: absentModel{}}
	if in.stage != nil {
		in.Snapshot.Embedder = in.stage
	} else if in.model != nil {
		encoder, err := embedder.NewEncoder(embedder.Config{}, in.model, in.registerer())
		if err != nil {
			return err
		}
		in.Snapshot.Embedder = encoder
	}
	_, in.Snapshot.EmbedsElsewhere = in.model.(endpoint)
	if m.SearchesWeaviate() {
		in.Snapshot.Index = weaviate.NewSearch(m.Vectors, in.Index, m.Logger)
	}
	return nil
}

// absentModel stands for a model that cannot be loaded: searches go by words.
type absentModel struct{}

// Embed implements query.Embedder.
func (absentModel) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("the model of the index is not there")
}

// endpoint is a model of another process, which may be away.
type endpoint interface{ Ready(context.Context) error }

// Ready asks the model, if it lies behind an endpoint.
func (in *Instance) Ready(ctx context.Context) error {
	if away, ok := in.model.(endpoint); ok {
		return away.Ready(ctx)
	}
	return nil
}

// start makes the topic, and lets the services run until stop is called or one of them
// fails.
func (m *Manager) start(in *Instance) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.createTopic(ctx, in.Number)
		if ctx.Err() != nil {
			return
		}
		if err := rungroup.Run(ctx, in.services); err != nil {
			in.broken <- err
		}
	}()
	in.stop = func() { cancel(); <-ended }
}

// createTopic tries until the topic is there or ctx ends.
func (m *Manager) createTopic(ctx context.Context, number int) {
	warned := false
	_ = backoff.RetryNotify(func() error { return m.Bus.Create(ctx, events.Embedded(number)) },
		backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0)), ctx),
		func(err error, _ time.Duration) {
			if !warned {
				m.Logger.Warn("the topic of an index version cannot be made yet", "version", number, "error", err)
			}
			warned = true
		})
}

// halt ends the services, if they run.
func (in *Instance) halt() {
	if in.stop != nil {
		in.stop()
		in.stop = nil
	}
}

// leave notes that new searches use another instance: close waits for the earlier ones, of
// every time that this instance was searched.
func (in *Instance) leave(wait func()) {
	before := in.drained
	in.drained = func() {
		if before != nil {
			before()
		}
		wait()
	}
}

// close ends everything, once no search uses it.
func (in *Instance) close() error {
	in.halt()
	if in.drained != nil {
		in.drained()
	}
	in.users.Lock()
	defer in.users.Unlock()
	var errs []error
	for _, c := range slices.Backward(in.opened) {
		errs = append(errs, c.Close())
	}
	in.opened = nil
	return errors.Join(errs...)
}

// entities counts what the index shows, of all tenants.
func (in *Instance) entities() int {
	if in == nil || in.Index == nil {
		return 0
	}
	n := 0
	for _, s := range in.Index.Stats() {
		n += s.Tools + s.Providers
	}
	return n
}

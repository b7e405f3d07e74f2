package reindex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/engine/weaviate"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/internal/server/embedding"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/query/search"
)

// Instance is an index version at work in this process, with its embedding stage, its index
// or both.
type Instance struct {
	Version
	Index    *flat.Index // in a process that searches
	Snapshot search.Snapshot

	model    embedder.Model
	metrics  *prometheus.Registry
	opened   []io.Closer // in the order of opening
	services []lifecycle.Service
	stage    *embedder.Service     // in a process that embeds
	writer   *embedder.IndexWriter // in a process that searches, as well as writes
	writes   *pausedIndex          // the writer's view of Index
	sink     *weaviateSink         // in a process that embeds, with Weaviate

	created atomic.Bool  // its topic, since start
	stop    func()       // ends the services and waits for them; nil while they do not run
	broken  chan error   // receives the error that ended the services
	drained func()       // waits for searches that began while it was live; nil if it never was
	users   sync.RWMutex // read-locked by Use
}

// pausedIndex is an index whose writes can be paused.
type pausedIndex struct {
	*flat.Index
	mu sync.Mutex // held during a write, and while writes are paused
}

// Apply implements embedder.Index.
func (p *pausedIndex) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Index.Apply(ctx, changes, through)
}

// otherModelError means that a setting names another model than the version's: the model's file
// was replaced, or the program and its built-in model.
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
// searches use words alone, and new documents wait for a version that can embed them. After
// an error everything is closed again.
func openInstance(ctx context.Context, c Config, v Version, withModel bool, isLive func(*Instance) bool) (_ *Instance, err error) {
	in := &Instance{Version: v, metrics: prometheus.NewRegistry(), broken: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.close())
		}
	}()
	if withModel {
		if err := in.openModel(ctx, c); err != nil {
			return nil, err
		}
	}
	if c.Searches {
		if err := in.openIndex(ctx, c, isLive); err != nil {
			return nil, err
		}
	}
	if c.Embeds && withModel {
		if err := in.openStage(c); err != nil {
			return nil, err
		}
	}
	return in, in.openSnapshot(c)
}

func (in *Instance) openModel(ctx context.Context, c Config) error {
	cfg, err := embedding.With(c.Settings, in.Setting, in.Dimensions)
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

// registerer registers the metrics of the version, with a label unless it is the first.
func (in *Instance) registerer() prometheus.Registerer {
	if in.Number == 1 {
		return in.metrics
	}
	return prometheus.WrapRegistererWith(prometheus.Labels{"index_version": strconv.Itoa(in.Number)}, in.metrics)
}

func (in *Instance) openIndex(ctx context.Context, c Config, isLive func(*Instance) bool) (err error) {
	in.Index, err = flat.Open(ctx, flat.Config{
		Path: folder(c.Settings.Data, in.Number), Logger: c.Logger, Registerer: in.registerer(), WordsOnly: c.searchesWeaviate(),
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
	in.writer = embedder.NewIndexWriter(embedder.WriterDeps{
		IndexVersion: in.Number, Index: in.writes, Searched: func() bool { return isLive(in) }, Follower: c.Bus, Publisher: c.Bus,
		Repeat: c.Repeat, Newest: in.Index.Version, Logger: c.Logger, Registerer: in.registerer(), Traces: c.Traces,
	})
	in.services = append(in.services, lifecycle.Service{Name: "index writer", Run: in.writer.Run})
	return nil
}

func (in *Instance) openStage(c Config) (err error) {
	var cache embedder.Cache
	if in.Index != nil && !c.searchesWeaviate() {
		cache = in.Index
	}
	in.stage, err = embedder.New(embedder.Config{IndexVersion: in.Number}, embedder.Deps{
		Model: in.model, Cache: cache, Groups: c.Bus, Publisher: c.Bus, Logger: c.Logger, Registerer: in.registerer(), Traces: c.Traces,
	})
	if err != nil {
		return err
	}
	if c.Vectors != nil {
		in.sink = newWeaviateSink(events.Embedded(in.Number), func(ctx context.Context) (*weaviate.Index, error) {
			return weaviate.OpenIndex(ctx, c.Vectors, classOf(in.Version))
		}, stream.Deps{Groups: c.Bus, Publisher: c.Bus, Logger: c.Logger, Registerer: in.registerer(), Traces: c.Traces})
		in.services = append(in.services, lifecycle.Service{Name: "weaviate sink", Run: in.sink.run})
	}
	in.services = append(in.services, lifecycle.Service{Name: "embedder", Run: in.stage.Run})
	return nil
}

// classOf identifies the vectors of a version in Weaviate.
func classOf(v Version) weaviate.Model {
	return weaviate.Model{Name: v.Model, Dimensions: v.Dimensions}
}

// openSnapshot makes the snapshot that searches use.
func (in *Instance) openSnapshot(c Config) error {
	if in.Index == nil {
		return nil
	}
	in.Snapshot = search.Snapshot{Model: in.Model, Index: in.Index, Catalogue: in.Index, Embedder: absentModel{}}
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
	if c.searchesWeaviate() {
		in.Snapshot.Index = weaviate.NewSearch(c.Vectors, in.Index, c.Logger)
	}
	return nil
}

// absentModel replaces a model that cannot be loaded: searches use words alone.
type absentModel struct{}

// Embed implements search.Embedder.
func (absentModel) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("the model of the index is not there")
}

// endpoint is a model of another process, which may be down.
type endpoint interface{ Ready(context.Context) error }

// Ready checks the model's endpoint, if it has one.
func (in *Instance) Ready(ctx context.Context) error {
	if away, ok := in.model.(endpoint); ok {
		return away.Ready(ctx)
	}
	return nil
}

// start creates the topic, retrying until it exists, and runs the services until stop is
// called or one of them fails.
func (in *Instance) start(c Config) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		warned := false
		pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
		if err := backoff.RetryNotify(func() error { return c.Bus.Create(ctx, events.Embedded(in.Number)) }, backoff.WithContext(pace, ctx), func(err error, _ time.Duration) {
			if !warned {
				c.Logger.Warn("cannot create the topic of an index version yet", "version", in.Number, "error", err)
			}
			warned = true
		}); err != nil || ctx.Err() != nil {
			return // only ctx ends the attempts
		}
		in.created.Store(true)
		if err := lifecycle.Run(ctx, in.services); err != nil {
			in.broken <- err
		}
	}()
	in.stop = func() { cancel(); <-ended }
}

// halt ends the services, if they run.
func (in *Instance) halt() {
	if in.stop != nil {
		in.stop()
		in.stop = nil
	}
}

// leave records that new searches use another instance. close then waits for the earlier
// searches, also of previous times as the live instance.
func (in *Instance) leave(wait func()) {
	before := in.drained
	in.drained = func() {
		if before != nil {
			before()
		}
		wait()
	}
}

// close waits for searches and closes everything.
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

// entities counts the tools and providers of all tenants in the index.
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

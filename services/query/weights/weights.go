// Package weights follows the output of the trainer: the weights of each tenant's searches, and
// how its tools are used. Versions that are kept can be read by name.
package weights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Keys of the store: a prefix, then the owner. The owner of usage is a tenant; the owner of
// weights is a tenant with an embedding model, as schema.ModelOwner names them.
const (
	weightsPrefix = "weights.live."
	versionPrefix = "weights.version." // not watched
	usagePrefix   = "usage."
)

// Why a value is refused, as metrics say it.
const (
	refusedInvalid = "invalid"
	refusedOlder   = "older_epoch"
)

// Versions holds the versions of weights that are kept. The error of Get for a missing key is
// stream.ErrNotFound.
type Versions interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
}

// Deps are the dependencies of a Store.
type Deps struct {
	Watcher    stream.Watcher // optional: without it the built-in weights serve
	Versions   Versions       // optional: without it only presets can be named
	Stale      func() bool    // optional: whether the watched store may be behind
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Store holds the newest weights and usage of every tenant. Its methods may be called
// concurrently.
type Store struct {
	deps    Deps
	weights *watched[*fusion.Model]
	usage   *watched[*ranking.Usage]
}

// New returns a store that has learned nothing yet; Run fills it.
func New(deps Deps) *Store {
	if deps.Stale == nil {
		deps.Stale = func() bool { return false }
	}
	refused := telemetry.Metrics(deps.Registerer).NewCounterVec("toolstream_search_model_rejected_total", "Refused weights and usage tables; the last good ones stay.",
		[]string{"what", "reason"}, []string{"weights", "usage"}, []string{refusedInvalid, refusedOlder})
	s := &Store{
		deps: deps,
		weights: &watched[*fusion.Model]{
			what: "weights", prefix: weightsPrefix, decode: decodeWeights, level: slog.LevelInfo, log: deps.Logger, rejected: refused, owners: map[string]owned[*fusion.Model]{},
		},
		usage: &watched[*ranking.Usage]{
			what: "usage", prefix: usagePrefix, decode: decodeUsage, level: slog.LevelDebug, log: deps.Logger, rejected: refused, owners: map[string]owned[*ranking.Usage]{},
		},
	}
	for what, epochs := range map[string]func() uint64{"weights": s.weights.epochs, "usage": s.usage.epochs} {
		promauto.With(deps.Registerer).NewGaugeFunc(prometheus.GaugeOpts{
			Name: "toolstream_search_model_epoch", ConstLabels: prometheus.Labels{"what": what},
			Help: "Sum over the tenants of the epochs of weights and usage that this replica ranks by; lower on a replica that is behind.",
		}, func() float64 { return float64(epochs()) })
	}
	return s
}

// Run follows weights and usage until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	if s.deps.Watcher == nil {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.weights.follow(ctx, s.deps.Watcher); return nil })
	g.Go(func() error { s.usage.follow(ctx, s.deps.Watcher); return nil })
	return g.Wait()
}

// Live returns the weights that a tenant has learned with an embedding model, or nil.
func (s *Store) Live(tenant, embeddingModel string) *fusion.Model {
	return s.weights.get(schema.ModelOwner(tenant, embeddingModel)).value
}

// Usage returns how the tools of a tenant are used, nil if nothing is known.
func (s *Store) Usage(tenant string) *ranking.Usage { return s.usage.get(tenant).value }

// Epoch returns the epoch of Live, 0 if a tenant has learned nothing.
func (s *Store) Epoch(tenant, embeddingModel string) uint64 {
	return s.weights.get(schema.ModelOwner(tenant, embeddingModel)).epoch
}

// Refused says why a tenant's newest weights and usage cannot serve. The last good ones do.
func (s *Store) Refused(tenant, embeddingModel string) []string {
	var out []string
	for _, why := range []string{s.weights.get(schema.ModelOwner(tenant, embeddingModel)).refused, s.usage.get(tenant).refused} {
		if why != "" {
			out = append(out, why)
		}
	}
	return out
}

// Stale reports whether weights and usage may be behind the watched store.
func (s *Store) Stale() bool { return s.deps.Stale() }

// Erase forgets the weights and the usage of a tenant.
func (s *Store) Erase(tenant string) {
	s.weights.erase(tenant)
	s.usage.erase(tenant)
}

// versionNames matches the names of kept versions.
var versionNames = regexp.MustCompile(`^w[1-9][0-9]*-[0-9a-f]{8}$`)

// Version returns a preset, or a version of a tenant's weights that is kept. The error is a
// *schema.Invalid if the version is unknown or was learned with another embedding model.
func (s *Store) Version(ctx context.Context, tenant, embeddingModel, version string) (*fusion.Model, error) {
	refuse := func(reason string) error {
		return &schema.Invalid{Path: "/weights", Value: schema.Quote(version), Reason: reason}
	}
	w, err := fusion.Preset(version)
	if err != nil {
		if s.deps.Versions == nil || !versionNames.MatchString(version) {
			return nil, refuse("must be a version of the weights")
		}
		e, err := s.deps.Versions.Get(ctx, versionPrefix+tenant+"."+version)
		if errors.Is(err, stream.ErrNotFound) {
			return nil, refuse("is not kept any more")
		}
		if err != nil {
			return nil, fmt.Errorf("read weights %s: %w", version, err)
		}
		if err := json.Unmarshal(e.Value, &w); err != nil {
			return nil, refuse("cannot be read: " + err.Error())
		}
		if w.Model != embeddingModel {
			return nil, refuse("was learned with the embedding model " + schema.Quote(w.Model) + ", and the index has " + schema.Quote(embeddingModel))
		}
	}
	model, err := fusion.ModelOf(w)
	if err != nil {
		return nil, refuse("cannot rank: " + err.Error())
	}
	return &model, nil
}

// Usable returns why a value of the store cannot be used under its key, or nil.
func Usable(key string, value []byte) error {
	var err error
	if owner, ok := strings.CutPrefix(key, weightsPrefix); ok {
		_, _, err = decodeWeights(owner, value)
	} else if tenant, ok := strings.CutPrefix(key, usagePrefix); ok {
		_, _, err = decodeUsage(tenant, value)
	}
	return err
}

func decodeWeights(_ string, value []byte) (*fusion.Model, uint64, error) {
	var w schema.Weights
	if err := json.Unmarshal(value, &w); err != nil {
		return nil, 0, fmt.Errorf("decode weights: %w", err)
	}
	model, err := fusion.ModelOf(w)
	return &model, w.Epoch, err
}

func decodeUsage(tenant string, value []byte) (*ranking.Usage, uint64, error) {
	var table schema.Usage
	if err := json.Unmarshal(value, &table); err != nil {
		return nil, 0, fmt.Errorf("decode usage: %w", err)
	}
	if err := table.Validate(); err != nil {
		return nil, 0, err
	}
	if table.Tenant != tenant {
		return nil, 0, fmt.Errorf("usage of tenant %q under the key of %q", table.Tenant, tenant)
	}
	return ranking.NewUsage(table), table.Epoch, nil
}

// watched holds, by owner, the newest good value that the store has of something, and
// the last good one when what arrives cannot be used. A value is never changed once it
// is here: searches go on with the one they began with.
type watched[T any] struct {
	what     string // in metrics and logs
	prefix   string
	decode   func(owner string, value []byte) (v T, epoch uint64, err error)
	level    slog.Level // of the line in the log about a new value
	log      *slog.Logger
	rejected *prometheus.CounterVec

	mu     sync.RWMutex        // guards owners
	owners map[string]owned[T] // by owner
}

// owned is the value of an owner.
type owned[T any] struct {
	value   T      // the last good one, or zero
	epoch   uint64 // of it, which the next one must not be behind
	refused string // why the newest value in the store cannot be used, or empty
}

// get returns the value of an owner.
func (w *watched[T]) get(owner string) owned[T] {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.owners[owner]
}

// epochs returns the sum of the epochs of all owners' values, which grows with every
// newer one.
func (w *watched[T]) epochs() (sum uint64) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, o := range w.owners {
		sum += o.epoch
	}
	return sum
}

// apply adopts the value of a key from the store. A deleted key leaves no value.
func (w *watched[T]) apply(key string, value []byte) {
	owner := strings.TrimPrefix(key, w.prefix)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(value) == 0 {
		delete(w.owners, owner)
		return
	}
	has := w.owners[owner]
	next, epoch, err := w.decode(owner, value)
	reason := refusedInvalid
	if err == nil && epoch < has.epoch {
		reason, err = refusedOlder, fmt.Errorf("epoch %d is older than the one in use", epoch)
	}
	if err != nil {
		has.refused = w.what + ": " + err.Error()
		w.owners[owner] = has
		w.rejected.WithLabelValues(w.what, reason).Inc()
		w.log.Warn("query: "+w.what+" refused, the last good value stays", "owner", owner, "reason", reason, "error", err)
		return
	}
	w.owners[owner] = owned[T]{value: next, epoch: epoch}
	w.log.Log(context.Background(), w.level, "query: new "+w.what, "owner", owner, "epoch", epoch)
}

// erase forgets the values of all owners of a tenant.
func (w *watched[T]) erase(tenant string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.owners, func(owner string, _ owned[T]) bool {
		of, _, _ := strings.Cut(owner, ".")
		return of == tenant
	})
}

// follow watches the keys until ctx ends. While the store is lost searches go on with the
// last values.
func (w *watched[T]) follow(ctx context.Context, store stream.Watcher) {
	var watching lifecycle.Health
	stream.WatchAgain(ctx, store, w.prefix, func(e stream.Entry) error {
		w.apply(e.Key, e.Value)
		return nil
	}, func(err error) {
		watching.LogChange(ctx, w.log, err, "query: the store of "+w.what+" is lost, the last values serve", "query: the store of "+w.what+" is watched again")
	})
}

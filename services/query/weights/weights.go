package query

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

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Keys of the store that is watched: a prefix, then the owner. That is the tenant, and
// of weights the tenant with the embedding model, as schema.ModelOwner names them.
const (
	weightsPrefix = "weights.live."
	versionPrefix = "weights.version." // not watched
	usagePrefix   = "usage."
)

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

// Usable says why a value of the store cannot serve under its key, nil where it
// can.
func Usable(key string, value []byte) error {
	var err error
	if owner, ok := strings.CutPrefix(key, weightsPrefix); ok {
		_, _, err = decodeWeights(owner, value)
	} else if tenant, ok := strings.CutPrefix(key, usagePrefix); ok {
		_, _, err = decodeUsage(tenant, value)
	}
	return err
}

// modelOf returns the weights that a tenant's searches of a snapshot rank by: those that
// were learned with its embedding model, else the built-in ones.
func (s *Service) modelOf(index *snapshot, tenant string) *fusion.Model {
	if learned := s.weights.get(schema.ModelOwner(tenant, index.Model)).value; learned != nil {
		return learned
	}
	return index.builtin
}

// LiveWeights names, in a request, the weights that searches of the tenant rank by.
const LiveWeights = "live"

// ErrNotOperator is returned for a search that only an operator may ask for.
var ErrNotOperator = errors.New("weights may be named by operators only")

// Versions holds the versions of weights that are kept. Get of what is not there is a
// stream.ErrNotFound.
type Versions interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
}

// versionNames are the names of kept versions.
var versionNames = regexp.MustCompile(`^w[1-9][0-9]*-[0-9a-f]{8}$`)

// ranksBy returns the weights that a request names, or those of the tenant. The error is
// ErrNotOperator, a *schema.Invalid, or wraps ErrUnavailable.
func (s *Service) ranksBy(ctx context.Context, index *snapshot, caller identity.Caller, version string) (*fusion.Model, error) {
	live := s.modelOf(index, caller.Tenant)
	switch {
	case version == "":
		return live, nil
	case !caller.Role.Includes(identity.Operator):
		return nil, ErrNotOperator
	case version == LiveWeights, version == live.Version:
		return live, nil
	case version == fusion.BuiltinName:
		return index.builtin, nil
	}
	refuse := func(reason string) error {
		return &schema.Invalid{Path: "/weights", Value: schema.Quote(version), Reason: reason}
	}
	w, err := fusion.Preset(version)
	if err != nil {
		if s.deps.Versions == nil || !versionNames.MatchString(version) {
			return nil, refuse("is no version of the weights")
		}
		e, err := s.deps.Versions.Get(ctx, versionPrefix+caller.Tenant+"."+version)
		if errors.Is(err, stream.ErrNotFound) {
			return nil, refuse("is no version of the weights that is kept")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: read weights %s: %w", ErrUnavailable, version, err)
		}
		if err := json.Unmarshal(e.Value, &w); err != nil {
			return nil, refuse("cannot be read: " + err.Error())
		}
		if w.Model != index.Model {
			return nil, refuse("was learned with the embedding model " + schema.Quote(w.Model) + ", and the index has " + schema.Quote(index.Model))
		}
	}
	model, err := fusion.ModelOf(w)
	if err != nil {
		return nil, refuse("cannot rank: " + err.Error())
	}
	return &model, nil
}

// Erase forgets the weights and the usage of a tenant.
func (s *Service) Erase(tenant string) {
	s.weights.erase(tenant)
	s.usage.erase(tenant)
}

// unpriced returns a model by which a missing parameter costs nothing.
func unpriced(m *fusion.Model) *fusion.Model {
	free := *m
	free.Required, free.Optional = 0, 0
	return &free
}

// WeightsVersion names the weights that searches of a tenant rank by.
func (s *Service) WeightsVersion(tenant string) string {
	return s.modelOf(s.now.Load(), tenant).Version
}

// WeightsEpoch is the epoch of the weights that searches of a tenant rank by, 0
// for the built-in ones.
func (s *Service) WeightsEpoch(tenant string) uint64 {
	return s.weights.get(schema.ModelOwner(tenant, s.now.Load().Model)).epoch
}

// Refused says of a tenant's weights and usage in the store why they cannot
// serve: the last good ones do.
func (s *Service) Refused(tenant string) []string {
	owner := schema.ModelOwner(tenant, s.now.Load().Model)
	var out []string
	for _, why := range []string{s.weights.get(owner).refused, s.usage.get(tenant).refused} {
		if why != "" {
			out = append(out, why)
		}
	}
	return out
}

// Without names the parts that the last searches which wanted them went
// without, as answers do in "degraded".
func (s *Service) Without() []string {
	var parts []string
	if s.now.Load().embedding.Fails() {
		parts = append(parts, degradedVectors)
	}
	if s.deps.Stale() {
		parts = append(parts, degradedWeights)
	}
	if s.scoring.Fails() {
		parts = append(parts, degradedRerank)
	}
	return parts
}

// watched holds, by owner, the newest good value that the store has of something, and
// the last good one when what arrives cannot be used. A value is never changed once it
// is here: searches go on with the one they began with.
type watched[T any] struct {
	what    string // in metrics and logs
	prefix  string
	decode  func(owner string, value []byte) (v T, epoch uint64, err error)
	level   slog.Level // of the line in the log about a new value
	log     *slog.Logger
	metrics *metrics

	mu     sync.RWMutex        // guards owners
	owners map[string]owned[T] // by owner
}

// owned is what an owner has.
type owned[T any] struct {
	value   T      // the last good one, zero where there is none
	epoch   uint64 // of it, which the next one must not be behind
	refused string // why what the store has now cannot serve, empty where it does
}

func newWatched[T any](what, prefix string, decode func(string, []byte) (T, uint64, error), level slog.Level, log *slog.Logger, m *metrics) *watched[T] {
	return &watched[T]{what: what, prefix: prefix, decode: decode, level: level, log: log, metrics: m, owners: map[string]owned[T]{}}
}

// get returns what an owner has.
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

// apply takes what the store says of a key. A deleted key leaves no value.
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
		w.metrics.refused.WithLabelValues(w.what, reason).Inc()
		w.log.Warn("query: "+w.what+" refused, the last good value stays", "owner", owner, "reason", reason, "error", err)
		return
	}
	w.owners[owner] = owned[T]{value: next, epoch: epoch}
	w.log.Log(context.Background(), w.level, "query: new "+w.what, "owner", owner, "epoch", epoch)
}

// erase forgets what the owners have that are of a tenant.
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
	var watching health.State
	stream.WatchAgain(ctx, store, w.prefix, func(e stream.Entry) error {
		w.apply(e.Key, e.Value)
		return nil
	}, func(err error) {
		watching.Note(ctx, w.log, err, "query: the store of "+w.what+" is lost, the last values serve", "query: the store of "+w.what+" is watched again")
	})
}

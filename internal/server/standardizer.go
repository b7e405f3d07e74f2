package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer"
)

// openStandardizer makes the stage and, if the language model fills documents, the refresher,
// which one process at a time runs.
func openStandardizer(_ context.Context, p *Process) (none, error) {
	cfg, err := standardizerConfig(p.cfg)
	if err != nil {
		return none{}, err
	}
	bus, store, model := theBus.get(p), theStore.get(p), theLLM.get(p)
	deps := standardizer.Deps{Groups: bus, Publisher: bus, Logger: p.log, Registerer: p.metrics, Traces: theTraces.get(p).Provider()}
	fills := model != nil && p.cfg.LLM.Standardizes()
	if fills {
		answers, err := newAnswerStore(p, answersBucket, 0)
		if err != nil {
			return none{}, err
		}
		deps.Model, deps.Answers, deps.Now = model, answers, time.Now
		if deps.Vectors, err = static.Builtin(); err != nil {
			return none{}, err
		}
	}
	stage, err := standardizer.New(cfg, deps)
	if err != nil {
		return none{}, err
	}
	p.starts("standardizer", stage.Run)
	if !fills {
		return none{}, nil
	}
	uses := &uses{prior: map[string]map[string]float64{}}
	p.starts("uses", func(ctx context.Context) error { uses.follow(ctx, store, p.log); return nil })
	p.erases(func(_ context.Context, f tenants.Fence) error { uses.erase(f.Tenant); return nil })
	turn, refresher := theRefresherTurn.get(p), standardizer.NewRefresher(stage, standardizer.RefreshDeps{
		Workers: p.cfg.LLM.Parallel - p.reserve(), Patience: p.cfg.LLM.Timeout, Follower: bus, Republisher: bus, Uses: uses,
	})
	p.starts("refresher", func(ctx context.Context) error {
		for {
			if err := turn.Run(ctx, refresher.Run); !errors.Is(err, stream.ErrLeaseLost) {
				return err
			}
		}
	})
	return none{}, nil
}

func standardizerConfig(c config.Config) (standardizer.Config, error) {
	cfg := StandardizerConfig(c.LLM)
	cfg.Quarantine, cfg.Exempt = c.Standardizer.Quarantine, c.Standardizer.Exempt
	if err := cfg.Validate(); err != nil {
		return cfg, config.Wrong{Err: err}
	}
	return cfg, nil
}

// StandardizerConfig returns the settings as the standardizer takes them.
func StandardizerConfig(c config.LLM) (cfg standardizer.Config) {
	if c.Language == "english" {
		cfg.Language = "en"
	}
	return cfg
}

// newRules returns the rules, which make documents without a language model, for previews. Its
// metrics are separate from the metrics of the stage.
func newRules(p *Process) (*standardizer.Documents, error) {
	cfg, err := standardizerConfig(p.cfg)
	if err != nil {
		return nil, err
	}
	return standardizer.NewDocuments(cfg, standardizer.Deps{Logger: p.log, Registerer: prometheus.NewRegistry()})
}

// usagePrefix begins the keys under which the trainer publishes usage, by tenant.
const usagePrefix = "usage."

// uses returns the use of tools as the trainer publishes it. A damaged value counts as no use:
// only the order of the refresher depends on it.
type uses struct {
	mu    sync.RWMutex
	prior map[string]map[string]float64 // by tenant and tool
}

// Used returns the logarithm of the decayed uses of a tool.
func (u *uses) Used(tenant, tool string) float64 {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return u.prior[tenant][tool]
}

// follow follows the store until ctx ends. While it is away, the last known uses hold.
func (u *uses) follow(ctx context.Context, store stream.Watcher, log *slog.Logger) {
	stream.WatchAgain(ctx, store, usagePrefix, func(e stream.Entry) error {
		tenant := strings.TrimPrefix(e.Key, usagePrefix)
		var table schema.Usage
		if len(e.Value) == 0 || json.Unmarshal(e.Value, &table) != nil || table.Tenant != tenant {
			u.erase(tenant)
			return nil
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.prior[tenant] = table.Prior
		return nil
	}, func(err error) {
		if err != nil {
			log.Debug("uses: the store is away, the last known uses hold", "error", err)
		}
	})
}

func (u *uses) erase(tenant string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.prior, tenant)
}

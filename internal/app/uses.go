package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
)

// usagePrefix begins the keys under which the trainer publishes usage, by tenant.
const usagePrefix = "usage."

// uses is how much tools are used, as the trainer says. What it says does not
// matter so much that damaged values would be worth an error: they count as none.
type uses struct {
	watcher query.Watcher
	log     *slog.Logger

	mu sync.RWMutex
	of map[string]map[string]float64 // by tenant and tool
}

func newUses(w query.Watcher, log *slog.Logger) *uses {
	return &uses{watcher: w, log: log, of: map[string]map[string]float64{}}
}

// Used returns the logarithm of the uses of a tool that are not yet forgotten.
func (u *uses) Used(tenant, tool string) float64 {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return u.of[tenant][tool]
}

// run follows the store until ctx ends. While that is away, the last known ones
// hold.
func (u *uses) run(ctx context.Context) error {
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(10*time.Second), backoff.WithMaxElapsedTime(0))
	watch := func() error {
		err := u.watcher.Watch(ctx, usagePrefix, func(e stream.Entry) error {
			pace.Reset()
			u.take(e)
			return nil
		})
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	_ = backoff.RetryNotify(watch, backoff.WithContext(pace, ctx), func(err error, _ time.Duration) {
		u.log.Debug("uses: the store is away, the last known ones hold", "error", err)
	})
	return ctx.Err()
}

func (u *uses) take(e stream.Entry) {
	var table schema.Usage
	tenant := strings.TrimPrefix(e.Key, usagePrefix)
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(e.Value) == 0 || json.Unmarshal(e.Value, &table) != nil || table.Tenant != tenant {
		delete(u.of, tenant)
		return
	}
	u.of[tenant] = table.Prior
}

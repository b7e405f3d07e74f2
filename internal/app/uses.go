package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/schema"
)

// usagePrefix begins the keys under which the trainer publishes usage, by tenant.
const usagePrefix = "usage."

// uses is how much tools are used, as the trainer says. What it says does not
// matter so much that damaged values would be worth an error: they count as none.
type uses struct {
	mu sync.RWMutex
	of map[string]map[string]float64 // by tenant and tool
}

// Used returns the logarithm of the uses of a tool that are not yet forgotten.
func (u *uses) Used(tenant, tool string) float64 {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return u.of[tenant][tool]
}

// follow follows the store until ctx ends. While that is away, the last known ones hold.
func (u *uses) follow(ctx context.Context, store stream.Watcher, log *slog.Logger) {
	stream.WatchAgain(ctx, store, usagePrefix, u.take, func(err error) {
		if err != nil {
			log.Debug("uses: the store is away, the last known ones hold", "error", err)
		}
	})
}

// erase forgets what a tenant uses.
func (u *uses) erase(tenant string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, tenant)
}

func (u *uses) take(e stream.Entry) error {
	var table schema.Usage
	tenant := strings.TrimPrefix(e.Key, usagePrefix)
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(e.Value) == 0 || json.Unmarshal(e.Value, &table) != nil || table.Tenant != tenant {
		delete(u.of, tenant)
	} else {
		u.of[tenant] = table.Prior
	}
	return nil
}

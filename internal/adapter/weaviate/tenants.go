package weaviate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/weaviate/weaviate/entities/models"
)

// bookkeeping is the shard of what a writer keeps for itself. No tenant has a
// name that begins like this.
const bookkeeping = "_writer"

// tenants makes the shards of one class.
type tenants struct {
	client *Client
	class  string
	begin  func(ctx context.Context, tenant string) error // writes what comes before all else

	mu    sync.Mutex
	known map[string]bool
}

// add makes the shards that are not there yet, and begins them. Making one that is there changes
// nothing.
func (t *tenants) add(ctx context.Context, names ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var missing []models.Tenant
	for _, name := range names {
		if !t.known[name] {
			missing = append(missing, models.Tenant{Name: name})
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := t.client.schema.TenantsCreator().WithClassName(t.class).WithTenants(missing...).Do(ctx); err != nil {
		return fmt.Errorf("weaviate: make tenants of %s: %w", t.class, err)
	}
	for _, tenant := range missing {
		if tenant.Name != bookkeeping {
			if err := t.begin(ctx, tenant.Name); err != nil {
				return err
			}
		}
		t.known[tenant.Name] = true
	}
	return nil
}

// list returns the tenants that there are, the bookkeeping left out.
func (t *tenants) list(ctx context.Context) ([]string, error) {
	all, err := t.client.schema.TenantsGetter().WithClassName(t.class).Do(ctx)
	if err != nil {
		return nil, fmt.Errorf("weaviate: tenants of %s: %w", t.class, err)
	}
	var names []string
	for _, tenant := range all {
		if tenant.Name != bookkeeping {
			names = append(names, tenant.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

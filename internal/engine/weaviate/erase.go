package weaviate

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Erase removes a tenant from every class of this deployment. Writers have to Forget it
// first.
func (c *Client) Erase(ctx context.Context, tenant string) error {
	all, err := c.schema.Getter().Do(ctx)
	if err != nil {
		return fmt.Errorf("weaviate: list classes: %w", err)
	}
	for _, class := range all.Classes {
		if !strings.HasPrefix(class.Class, c.alias+"_v") {
			continue
		}
		there, err := c.schema.TenantsExists().WithClassName(class.Class).WithTenant(tenant).Do(ctx)
		if err == nil && there {
			err = c.schema.TenantsDeleter().WithClassName(class.Class).WithTenants(tenant).Do(ctx)
		}
		if err != nil {
			return fmt.Errorf("weaviate: remove tenant %s of %s: %w", tenant, class.Class, err)
		}
	}
	return nil
}

// Forget drops the writer's state of a tenant: its shard may be gone.
func (i *Index) Forget(tenant string) {
	delete(i.tenants, tenant)
	maps.DeleteFunc(i.doubtful, func(ref schema.Ref, _ int) bool { return ref.Tenant == tenant })
}

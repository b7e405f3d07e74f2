package sources

import "context"

// Erase ends looking at the sources of a tenant, and returns once nothing of that is under
// way. While it is erasing, none is looked at; what the store still has is for the caller
// to delete.
func (s *Service) Erase(ctx context.Context, tenant string, erasing bool) error {
	return s.scheduler.erase(ctx, tenant, erasing)
}

// Declared returns the names of a tenant's sources that the settings declare.
func (s *Service) Declared(tenant string) (names []string) {
	for name := range s.cfg.Declared[tenant] {
		names = append(names, name)
	}
	return names
}

// TenantOf returns the tenant whose source a key of the store is about, and whether the key
// is one of sources.
func TenantOf(key string) (tenant string, ok bool) {
	for _, prefix := range []string{specPrefix, statePrefix} {
		if i, is := cutPrefix(key, prefix); is {
			return i.tenant, true
		}
	}
	return "", false
}

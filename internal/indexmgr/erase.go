package indexmgr

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
)

// Erase forgets what the index versions of this process hold of a tenant up to a revision.
// An index that is not at work is removed: the bus fills it again.
func (m *Manager) Erase(ctx context.Context, tenant string, through uint64) error {
	m.mu.Lock()
	all, away := maps.Clone(m.instances), maps.Clone(m.problems)
	m.mu.Unlock()
	var errs []error
	for _, in := range all {
		if in.Index != nil {
			errs = append(errs, in.Index.Erase(ctx, tenant, through))
		}
		if in.sink != nil {
			in.sink.forget(tenant)
		}
	}
	found, err := m.folders()
	for _, number := range slices.DeleteFunc(found, func(n int) bool { return all[n] != nil || away[n] == "" }) {
		err = errors.Join(err, os.RemoveAll(m.folder(number)))
	}
	return errors.Join(append(errs, err)...)
}

package sources

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// crawler connects to sources and compares their listings with the index. Its methods may be
// called concurrently.
type crawler struct {
	cfg        Config
	dir        *directory
	index      Index
	connectors map[string]source.Connector // by kind
	places     *source.Places
	hangups    sync.WaitGroup // sessions that are being closed
}

// connect opens a session with a source. changed is called when the source says that its list
// has changed.
func (c *crawler) connect(ctx context.Context, i id, rec *record, changed func()) (source.Session, error) {
	place, err := c.places.Locate(i.tenant, rec.Spec, rec.Parent != "", "")
	if err != nil {
		return nil, err
	}
	return c.connectors[rec.Kind].Connect(ctx, place, changed)
}

// hangUp closes a session, which may take a while.
func (c *crawler) hangUp(session source.Session) { c.hangups.Go(session.Close) }

// owned returns the ids of the tools of a provider, except for providers below it.
func (c *crawler) owned(ctx context.Context, i id, root string, providers []string) ([]string, error) {
	ids, err := c.index.Owned(ctx, i.tenant, root)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ids, func(i string) bool {
		return slices.ContainsFunc(providers, func(p string) bool { return strings.HasPrefix(i, p+"/") })
	}), nil
}

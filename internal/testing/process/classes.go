package process

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/client"
)

// awaitClass waits until Weaviate has a class that the alias of the deployment names,
// and returns it.
func (d *Distributed) awaitClass(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	var live struct{ Class string }
	err := Until(ctx, func() (bool, error) {
		err := weaviate(d.Cluster.Weaviate.Addr).Get(ctx, "/v1/aliases/"+d.Alias, nil, &live)
		return live.Class != "", unlessAbsent(err)
	})
	if err != nil {
		t.Fatalf("what the alias %s stands for: %v", d.Alias, err)
	}
	return live.Class
}

// TenantsInWeaviate returns the tenants that have a shard in Weaviate.
func (d *Distributed) TenantsInWeaviate(t testing.TB) (names []string) {
	t.Helper()
	var found []struct{ Name string }
	if err := weaviate(d.Cluster.Weaviate.Addr).Get(t.Context(), "/v1/schema/"+d.awaitClass(t)+"/tenants", nil, &found); err != nil {
		t.Fatal(err)
	}
	for _, one := range found {
		names = append(names, one.Name)
	}
	return names
}

// InWeaviate returns the revisions of the entities of a tenant that Weaviate holds, by id.
func (d *Distributed) InWeaviate(t testing.TB, tenant string) map[string]string {
	t.Helper()
	const page = 500
	out := map[string]string{}
	query := url.Values{"class": {d.awaitClass(t)}, "tenant": {tenant}, "limit": {fmt.Sprint(page)}}
	for {
		var found struct {
			Objects []struct {
				ID         string
				Properties struct{ Kind, Key, Revision string }
			}
		}
		if err := weaviate(d.Cluster.Weaviate.Addr).Get(t.Context(), "/v1/objects", query, &found); err != nil {
			t.Fatal(err)
		}
		for _, o := range found.Objects {
			query.Set("after", o.ID)
			if o.Properties.Key != "" {
				out[o.Properties.Key] = o.Properties.Revision
			}
		}
		if len(found.Objects) < page {
			return out
		}
	}
}

// forgetClasses removes an alias from Weaviate and the classes behind it, whose
// names up to the first underscore equal the alias.
func forgetClasses(ctx context.Context, addr, alias string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var all struct {
		Classes []struct{ Class string }
	}
	w := weaviate(addr)
	if err := w.Get(ctx, "/v1/schema", nil, &all); err != nil {
		return err
	}
	if err := w.Delete(ctx, "/v1/aliases/"+alias, nil); unlessAbsent(err) != nil {
		return err
	}
	for _, c := range all.Classes {
		if !strings.HasPrefix(c.Class, alias+"_") {
			continue
		}
		if err := w.Delete(ctx, "/v1/schema/"+c.Class, nil); unlessAbsent(err) != nil {
			return err
		}
	}
	return nil
}

func weaviate(addr string) *client.Client {
	return &client.Client{Server: "http://" + addr, HTTP: http.DefaultClient}
}

func unlessAbsent(err error) error {
	if client.NotFound(err) {
		return nil
	}
	return err
}

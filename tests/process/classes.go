package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/weaviate"
)

// OpenIndex opens the class of Weaviate that searches of the deployment go to,
// until the test ends. It waits for the embedder to make it.
func (d *Distributed) OpenIndex(t testing.TB) *weaviate.Index {
	t.Helper()
	client, model := d.class(t)
	index, err := weaviate.OpenIndex(t.Context(), client, model, weaviate.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(index.Close)
	return index
}

// class waits until there is a class that searches go to, and returns the model
// of its vectors.
func (d *Distributed) class(t testing.TB) (*weaviate.Client, weaviate.Model) {
	t.Helper()
	client, err := weaviate.New(weaviate.Config{
		URL: "http://" + d.Cluster.Weaviate.Addr, GRPC: d.Cluster.Weaviate.GRPC, Alias: d.Alias, Sweep: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	var model weaviate.Model
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	err = Until(ctx, func() (_ bool, err error) {
		class := ""
		class, model, err = client.LiveModel(ctx)
		return class != "", err
	})
	if err != nil {
		t.Fatalf("what the alias %s stands for: %v", d.Alias, err)
	}
	return client, model
}

// forgetClasses removes an alias from Weaviate and the classes behind it. They
// are called like it, up to the first underscore.
func forgetClasses(ctx context.Context, addr, alias string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var all struct {
		Classes []struct{ Class string }
	}
	root := "http://" + addr + "/v1/"
	if err := call(ctx, http.MethodGet, root+"schema", &all); err != nil {
		return err
	}
	if err := call(ctx, http.MethodDelete, root+"aliases/"+alias, nil); err != nil {
		return err
	}
	for _, c := range all.Classes {
		if !strings.HasPrefix(c.Class, alias+"_") {
			continue
		}
		if err := call(ctx, http.MethodDelete, root+"schema/"+c.Class, nil); err != nil {
			return err
		}
	}
	return nil
}

// call reads the answer into out, unless that is nil. What is not there is no
// error.
func call(ctx context.Context, method, url string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 && res.StatusCode != http.StatusNotFound {
		return fmt.Errorf("%s %s: %s", method, url, res.Status)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(out)
}

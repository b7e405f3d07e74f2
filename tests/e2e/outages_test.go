package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// ask searches without demanding an answer that lacks nothing.
func ask(ctx context.Context, c client.Client, query string) (schema.SearchResponse, error) {
	var answer schema.SearchResponse
	err := c.Post(ctx, "/v1/search", schema.SearchRequest{Query: query, K: 3}, &answer)
	return answer, err
}

// answersWith waits until every replica finds the ferry, and says that exactly
// these parts are missing from its answer. An answer has to come all the time.
func answersWith(t *testing.T, d process.Deployment, degraded ...string) {
	t.Helper()
	for _, p := range d.Fronts() {
		answerWith(t, p, degraded...)
	}
}

// answerWith is answersWith for one replica.
func answerWith(t *testing.T, p *process.Process, degraded ...string) {
	t.Helper()
	var last schema.SearchResponse
	err := until(t, func() (bool, error) {
		var err error
		last, err = ask(t.Context(), p.Client, "cross the strait")
		if err == nil && (len(last.Results) == 0 || last.Results[0].ID != "boat") {
			err = fmt.Errorf("found %+v", last.Results)
		}
		return slices.Equal(last.Degraded, degraded), err
	})
	if err != nil {
		t.Fatalf("%v; degraded is %q, want %q", err, last.Degraded, degraded)
	}
}

// outage kills a server, looks at what the deployment does without it, and
// starts it again.
func outage(t *testing.T, s *servers.Server, without func()) {
	t.Helper()
	s.Kill()
	defer func() {
		check.OK(t, s.Restart(context.WithoutCancel(t.Context())))
	}()
	without()
}

func TestSearchesGoOnWithoutNATS(t *testing.T) {
	level.Campaign(t)
	d := process.Serve(t, &cluster, process.Binary())
	put(t, d.Front(), "boat", ferry)
	agree(t, d)
	outage(t, cluster.NATS, func() {
		answersWith(t, d, "weights")
		put(t, d.Front(), "oven", bread)
		agree(t, d)
		d.Kill("query-1")
		d.Start(t, "query-1")
		answersWith(t, d, "weights")
	})
	answersWith(t, d)
}

func TestSearchesGoOnWithoutKafka(t *testing.T) {
	level.Campaign(t)
	d := process.Serve(t, &cluster, process.Binary())
	put(t, d.Front(), "boat", ferry)
	agree(t, d)
	outage(t, cluster.Kafka, func() {
		answersWith(t, d, "impressions")
		readiness(t, d, "Kafka", "ingest", "standardizer", "embedder", "trainer")
	})
	put(t, d.Front(), "oven", bread)
	agree(t, d)
	answersWith(t, d)
}

// A search in Weaviate needs it no more than one beside it does, and what was
// accepted meanwhile gets there once it is back.
func TestSearchesGoOnWithoutWeaviate(t *testing.T) {
	level.Campaign(t)
	d := process.Serve(t, &cluster, process.Binary(), config.VectorsWeaviate, config.VectorsReplica)
	put(t, d.Front(), "boat", ferry)
	put(t, d.Front(), "oven", bread)
	revisions := agree(t, d)
	kept(t, d, revisions)
	answersWith(t, d)
	stop := searching(t, d)
	outage(t, cluster.Weaviate, func() {
		answerWith(t, d.Replica("query-1"), "index")
		answerWith(t, d.Replica("query-2"))
		if o := at(t, d.Front(), "tools", "delete", "oven"); o.code != 0 {
			t.Fatalf("delete: %+v", o)
		}
		put(t, d.Front(), "oven", bread)
		put(t, d.Front(), "second oven", strings.Replace(bread, "rye", "spelt", 1))
		d.Cycle(t, "embedder-1")
		revisions = agree(t, d)
	})
	answersWith(t, d)
	stop()
	kept(t, d, revisions)
}

// kept waits until Weaviate holds tools in these revisions.
func kept(t *testing.T, d *process.Distributed, revisions map[string]uint64) {
	t.Helper()
	for id, revision := range revisions {
		process.Await(t, fmt.Sprintf("Weaviate does not come to hold %s in revision %d", id, revision), func() (bool, error) {
			return d.InWeaviate(t, identity.DefaultTenant)[id] == fmt.Sprint(revision), nil
		})
	}
}

// Services wait for Kafka for as long as they are told to live, and say so.
func TestServicesWaitForKafka(t *testing.T) {
	level.Campaign(t)
	d := process.Serve(t, &cluster, process.Binary())
	put(t, d.Front(), "boat", ferry)
	agree(t, d)
	early := []string{"ingest", "standardizer-1", "embedder-1", "query-1", "trainer"}
	outage(t, cluster.Kafka, func() {
		for _, name := range early {
			d.Kill(name)
			d.Begin(t, name)
			_, _, err := d.Replica(name).Client.Send(t.Context(), http.MethodGet, "/readyz", nil, "", nil)
			if refused := (*client.Problem)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Error(), "Kafka") {
				t.Errorf("%s without Kafka says of itself: %v", name, err)
			}
		}
	})
	for _, name := range early {
		if err := d.Replica(name).Ready(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	put(t, d.Front(), "oven", bread)
	agree(t, d)
	answersWith(t, d)
}

// ready picks the first replica that says it is.
func ready(ctx context.Context, replicas []client.Client) (client.Client, error) {
	var errs []error
	for _, c := range replicas {
		body, _, err := c.Send(ctx, http.MethodGet, "/readyz", nil, "", nil)
		if err == nil {
			return c, body.Close()
		}
		errs = append(errs, err)
	}
	return client.Client{}, errors.Join(errs...)
}

// searcher searches until ctx ends, each time a replica that is ready, and the
// other one if that goes away in between. It counts the answers.
func searcher(ctx context.Context, replicas []client.Client) (answers int, err error) {
	for n := 0; ctx.Err() == nil; n++ {
		order := []client.Client{replicas[n%2], replicas[1-n%2]}
		c, err := ready(ctx, order)
		var answer schema.SearchResponse
		if err == nil {
			answer, err = ask(ctx, c, "cross the strait")
		}
		if err != nil && ctx.Err() == nil { // it has just begun to drain
			if c, err = ready(ctx, []client.Client{order[1], order[0]}); err == nil {
				answer, err = ask(ctx, c, "cross the strait")
			}
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return answers, err
		}
		if len(answer.Results) == 0 || answer.Results[0].ID != "boat" {
			return answers, fmt.Errorf("found %+v", answer.Results)
		}
		answers++
	}
	return answers, nil
}

// searching searches all replicas until stop, which holds that every search was
// answered.
func searching(t *testing.T, d process.Deployment) (stop func()) {
	t.Helper()
	var replicas []client.Client
	for _, p := range d.Fronts() {
		replicas = append(replicas, p.Client)
	}
	ctx, cancel := context.WithCancel(t.Context())
	type end struct {
		answers int
		err     error
	}
	ended := make(chan end, 1)
	go func() {
		n, err := searcher(ctx, replicas)
		ended <- end{n, err}
	}()
	return func() {
		t.Helper()
		cancel()
		e := <-ended
		t.Logf("%d searches were answered meanwhile", e.answers)
		if e.err != nil || e.answers == 0 {
			t.Errorf("%d searches were answered, then: %v", e.answers, e.err)
		}
	}
}

func TestARollingRestartFailsNoSearch(t *testing.T) {
	level.Campaign(t)
	d := process.Serve(t, &cluster, process.Binary())
	put(t, d.Front(), "boat", ferry)
	agree(t, d)
	stop := searching(t, d)
	for n, name := range d.Replicas() {
		d.Cycle(t, name)
		put(t, d.Front(), fmt.Sprintf("oven %d", n), strings.Replace(bread, "rye", fmt.Sprintf("rye %d", n), 1))
	}
	stop()
	if got := agree(t, d); len(got) != len(d.Replicas())+1 {
		t.Errorf("%d tools are there", len(got))
	}
}

// readiness waits until every process of a deployment is ready, but for those of
// which the services are named: they have to say what they lack.
func readiness(t *testing.T, d *process.Distributed, lack string, unready ...string) {
	t.Helper()
	for _, name := range d.Replicas() {
		wanted := http.StatusOK
		for _, service := range unready {
			if strings.HasPrefix(name, service) {
				wanted = http.StatusServiceUnavailable
			}
		}
		var last answer
		err := until(t, func() (bool, error) {
			last = send(t, d.Replica(name), http.MethodGet, "/readyz", "", "")
			return last.status == wanted, nil
		})
		if err != nil || wanted != http.StatusOK && !strings.Contains(last.problem.Detail, lack) {
			t.Errorf("%s is not as it should be, %d: %d %s (%v)", name, wanted, last.status, last.body, err)
		}
		if alive := send(t, d.Replica(name), http.MethodGet, "/healthz", "", ""); alive.status != http.StatusOK {
			t.Errorf("%s does not say that it lives: %d", name, alive.status)
		}
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/process"
)

// event is a CloudEvent about a tool, as JSON. Without a document it deletes.
func event(id string, version int, tool, document string) string {
	kind, data := "upserted", `,"data":`+document
	if document == "" {
		kind, data = "deleted", ""
	}
	return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/harbour","type":"io.toolstream.tool.%s","subject":%q,"sourceversion":"%d"%s}`,
		id, kind, tool, version, data)
}

// notify posts events and returns the states of the outcomes.
func notify(t *testing.T, p *process.Process, media, body string, headers ...string) string {
	t.Helper()
	a := send(t, p, http.MethodPost, "/v1/events", media, body, headers...)
	var answer struct {
		Events []struct{ State string }
	}
	if err := json.Unmarshal(a.body, &answer); err != nil || len(answer.Events) == 0 {
		t.Fatalf("status %d: %s (%v)", a.status, a.body, err)
	}
	var states []string
	for _, e := range answer.Events {
		states = append(states, e.State)
	}
	return strings.Join(states, " ")
}

// shows waits until every process shows a tool under a name, "" for not at all.
func shows(t *testing.T, d process.Deployment, id, name string) {
	t.Helper()
	for _, p := range d.Fronts() {
		last := ""
		err := until(t, func() (bool, error) {
			e, there := get(t, p, id)
			last = e.Name
			return there == (name != "") && e.Name == name, nil
		})
		if err != nil {
			t.Fatalf("%s is shown as %q, want %q: %v", id, last, name, err)
		}
	}
}

const (
	structuredEvent = "application/cloudevents+json"
	eventBatch      = "application/cloudevents-batch+json"
)

// Events arrive in every encoding, late, twice, and a delete before what it
// deletes; what their source said last holds.
func TestDeploymentTakesCloudEvents(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, d process.Deployment) {
		p := d.Front()
		binary := []string{
			"ce-specversion", "1.0", "ce-id", "b1", "ce-source", "/bakery", "ce-type", "io.toolstream.tool.upserted", "ce-subject", "oven",
		}
		newest := event("e3", 3, "boat", ferry)
		for n, tc := range []struct {
			media, body string
			headers     []string
			states      string
		}{
			{structuredEvent, newest, nil, "accepted"},
			{structuredEvent, event("e2", 2, "boat", bread), nil, "stale"},
			{"application/json", bread, binary, "accepted"},
			{eventBatch, "[" + event("u7", 7, "kite", glider) + "," + event("d8", 8, "kite", "") + "," + event("u7", 7, "kite", glider) + "]", nil, "accepted accepted duplicate"},
		} {
			if got := notify(t, p, tc.media, tc.body, tc.headers...); got != tc.states {
				t.Errorf("arrival %d: %s, want %s", n, got, tc.states)
			}
		}
		for id, name := range map[string]string{"boat": "book_ferry", "oven": "bake_bread", "kite": ""} {
			shows(t, d, id, name)
		}
		// What was read is on the bus, not only in the memory of a process.
		d.Restart(t)
		for body, state := range map[string]string{newest: "unchanged", event("u7", 7, "kite", glider): "stale"} {
			if got := notify(t, d.Front(), structuredEvent, body); got != state {
				t.Errorf("after a restart %s, want %s: %s", got, state, body)
			}
		}
	})
}

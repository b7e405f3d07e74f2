package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/tests/process"
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, p := range d.Fronts() {
		last := ""
		err := process.Until(ctx, func() (bool, error) {
			e, there := get(t, p, id)
			last = e.Name
			return there == (name != "") && e.Name == name, nil
		})
		if err != nil {
			t.Fatalf("%s is shown as %q, want %q: %v\n%s", id, last, name, err, p.Log())
		}
	}
}

const (
	structuredEvent = "application/cloudevents+json"
	eventBatch      = "application/cloudevents-batch+json"
)

// Events arrive in every encoding, late, twice, and a delete before what it
// deletes; what their source said last holds.
func TestCloudEvents(t *testing.T) {
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
			{structuredEvent, newest, nil, "duplicate"},
			{structuredEvent, event("e2", 2, "boat", bread), nil, "stale"},
			{"application/json", bread, binary, "accepted"},
			{"application/json", bread, binary, "duplicate"},
			{eventBatch, "[" + event("d5", 5, "plane", "") + "," + event("u4", 4, "plane", glider) + "]", nil, "accepted stale"},
			{eventBatch, "[" + event("u7", 7, "kite", glider) + "," + event("d8", 8, "kite", "") + "," + event("u7", 7, "kite", glider) + "]", nil, "accepted accepted duplicate"},
			{structuredEvent, strings.Replace(event("e9", 9, "boat", bread), "tool.upserted", "tool.painted", 1), nil, "ignored"},
		} {
			if got := notify(t, p, tc.media, tc.body, tc.headers...); got != tc.states {
				t.Errorf("arrival %d: %s, want %s", n, got, tc.states)
			}
		}
		check := func() {
			t.Helper()
			for id, name := range map[string]string{"boat": "book_ferry", "oven": "bake_bread", "plane": "", "kite": ""} {
				shows(t, d, id, name)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var got map[string]uint64
			err := process.Until(ctx, func() (bool, error) { // what is deleted may be yet to come
				got = agree(t, d)
				return len(got) == 2, nil
			})
			if err != nil {
				t.Errorf("%d tools are there: %v", len(got), got)
			}
		}
		check()
		// What was read is on the bus, not only in the memory of a process.
		d.Restart(t)
		p = d.Front()
		for id, tc := range map[string]struct{ body, state string }{
			"the same again":            {newest, "unchanged"},
			"an older one":              {event("e1", 1, "boat", bread), "stale"},
			"older than the delete":     {event("u2", 2, "plane", glider), "stale"},
			"the one before the delete": {event("u7", 7, "kite", glider), "stale"},
		} {
			if got := notify(t, p, structuredEvent, tc.body); got != tc.state {
				t.Errorf("after a restart, %s: %s, want %s", id, got, tc.state)
			}
		}
		check()
		if got := notify(t, p, structuredEvent, event("u6", 6, "plane", glider)); got != "accepted" {
			t.Errorf("newer than the delete: %s", got)
		}
		shows(t, d, "plane", "rent_glider")
	})
}

// A whole document replaces what its agent had.
func TestPublishedDocuments(t *testing.T) {
	published := func(id, version, document string) string {
		return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/shops","type":"io.toolstream.openapi.published","subject":"corner","sourceversion":%q,"data":%s}`, id, version, document)
	}
	everywhere(t, func(t *testing.T, d process.Deployment) {
		p := d.Front()
		put(t, p, "bystander", ferry)
		for _, tc := range []struct{ event, state string }{
			{published("1", "1", shopV1), "accepted"}, {published("2", "2", shopV2), "accepted"}, {published("1", "1", shopV1), "duplicate"},
		} {
			if got := notify(t, p, structuredEvent, tc.event); got != tc.state {
				t.Errorf("%s, want %s", got, tc.state)
			}
		}
		shows(t, d, "corner/PUT /carts", "PUT carts")
		shows(t, d, "corner/DELETE /carts", "")
		if got := agree(t, d); len(got) != 5 {
			t.Errorf("%d tools are there: %v", len(got), got)
		}
	})
}

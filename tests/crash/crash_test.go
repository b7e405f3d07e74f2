// Package crash kills a running toolstream at random moments of an import and
// checks that nothing that was accepted is lost, doubled, or goes back.
package crash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/tests/process"
)

const (
	seed  = 20260214
	kills = 20
	batch = 100
	known = 6000 // tools, so many that every kill strikes some hundred changes
)

func TestNothingAcceptedIsLostByKills(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed, 1))
	tools, ids := realTools(t)
	steps := script(rng, tools, ids[:min(known, len(ids))])
	d := &driver{t: t, bin: process.Build(t), data: t.TempDir(), rng: rng, ledger: newLedger()}
	d.start()
	for k := range kills {
		d.importUntilKilled(take(&steps, len(steps)/(kills+1-k)))
	}
	d.importAll(steps)
	d.waitUntilIndexed()
	d.check()

	t.Log("restart once more, gracefully: the same has to be there")
	if err := d.process.Stop(); err != nil {
		t.Fatalf("stop: %v\n%s", err, d.process.Log())
	}
	d.start()
	d.check()
}

func take(steps *[]step, n int) []step {
	part := (*steps)[:n]
	*steps = (*steps)[n:]
	return part
}

type driver struct {
	t         *testing.T
	bin, data string
	rng       *rand.Rand
	process   *process.Process
	ledger    *ledger
	revisions map[string]uint64 // newest acknowledged, by id
}

func (d *driver) start() {
	d.t.Helper()
	d.process = process.Start(d.t, d.bin, d.data)
}

// importUntilKilled sends the steps, kills the process after a random number of
// answers, and sends what is left after the restart. Half of the time the batch
// that was cut off is sent again, as a client would; else it stays in doubt.
func (d *driver) importUntilKilled(steps []step) {
	d.t.Helper()
	moment := d.rng.IntN(len(steps)) + 1
	answered := 0
	var part []step
	for len(steps) > 0 && answered < moment {
		part = take(&steps, min(batch, len(steps)))
		left := moment - answered
		n := d.send(part, func(n int) bool { return n >= left })
		answered += n
	}
	d.process.Kill()
	d.start()
	if d.rng.IntN(2) == 0 {
		d.ledger.forget(part)
		d.importAll(part)
	}
	d.importAll(steps)
}

func (d *driver) importAll(steps []step) {
	d.t.Helper()
	for len(steps) > 0 {
		part := take(&steps, min(batch, len(steps)))
		if n := d.send(part, nil); n != len(part) {
			d.t.Fatalf("%d answers for %d changes\n%s", n, len(part), d.process.Log())
		}
	}
}

// send posts the steps as one batch and returns how many were answered. When
// kill says so, the process is killed in the middle of the answer.
func (d *driver) send(steps []step, kill func(answers int) bool) int {
	d.t.Helper()
	var body bytes.Buffer
	for _, s := range steps {
		body.Write(s.line())
		d.ledger.sent(s)
	}
	answer, err := d.process.Client.Send(d.t.Context(), http.MethodPost, "/v1/tools:batch", nil, "application/x-ndjson", &body)
	if err != nil {
		d.t.Fatalf("batch: %v\n%s", err, d.process.Log())
	}
	defer answer.Close()
	lines := bufio.NewReader(answer)
	for n := range steps {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return n // cut off: a part of a line is no answer
		}
		d.record(steps[n], line)
		if kill != nil && kill(n+1) {
			d.process.Kill()
		}
	}
	return len(steps)
}

func (d *driver) record(s step, line []byte) {
	d.t.Helper()
	var a struct {
		ID       string `json:"id"`
		Revision uint64 `json:"revision"`
		State    string `json:"state"`
	}
	if err := json.Unmarshal(line, &a); err != nil {
		d.t.Fatalf("answer %q: %v", line, err)
	}
	if a.ID != s.id || (a.State != "accepted" && a.State != "unchanged" && a.State != "superseded") {
		d.t.Fatalf("answer %s for %s edition %d", line, s.id, s.edition)
	}
	d.ledger.answered(s)
	if d.revisions == nil {
		d.revisions = map[string]uint64{}
	}
	if a.Revision == 0 {
		return // superseded by a later line, whose answer is its
	}
	if a.Revision < d.revisions[s.id] {
		d.t.Errorf("%s: revision %d after %d", s.id, a.Revision, d.revisions[s.id])
	}
	d.revisions[s.id] = a.Revision
}

// waitUntilIndexed asks for the state of the newest acknowledged revision of
// every tool until none is pending.
func (d *driver) waitUntilIndexed() {
	d.t.Helper()
	type change struct {
		ID       string `json:"id"`
		Revision uint64 `json:"revision"`
	}
	var pending []change
	for id, revision := range d.revisions {
		pending = append(pending, change{id, revision})
	}
	err := process.Until(d.t.Context(), func() (bool, error) {
		part := pending[:min(1000, len(pending))]
		var answer struct {
			States []struct {
				State string `json:"state"`
			} `json:"states"`
		}
		if err := d.process.Client.Post(d.t.Context(), "/v1/tools:states", map[string]any{"changes": part}, &answer); err != nil {
			return false, err
		}
		for i, s := range answer.States {
			if s.State == "dead_lettered" {
				return false, fmt.Errorf("%s is dead", part[i].ID)
			}
			if s.State != "indexed" {
				return false, nil
			}
		}
		pending = pending[len(part):]
		return len(pending) == 0, nil
	})
	if err != nil {
		d.t.Fatalf("%v\n%s", err, d.process.Log())
	}
}

// check lists everything that is indexed and compares it with the ledger.
func (d *driver) check() {
	d.t.Helper()
	seen := map[string]bool{}
	for _, e := range list(d.t, d.process) {
		if seen[e.ID] {
			d.t.Errorf("%s is listed twice", e.ID)
		}
		seen[e.ID] = true
		if n := editionOf(e.Description); !d.ledger.allows(e.ID, n) {
			d.t.Errorf("%s is at edition %d; acknowledged is %d, in doubt %v", e.ID, n, d.ledger.acked[e.ID].edition, editions(d.ledger.inDoubt[e.ID]))
		}
	}
	for id := range d.ledger.acked {
		if !seen[id] && !d.ledger.allows(id, 0) {
			d.t.Errorf("%s was acknowledged at edition %d and is not there", id, d.ledger.acked[id].edition)
		}
	}
	d.t.Logf("%d tools are indexed, %d were ever acknowledged", len(seen), len(d.ledger.acked))
}

type row struct {
	ID          string `json:"id"`
	Revision    uint64 `json:"revision"`
	Description string `json:"description"`
}

func list(t *testing.T, p *process.Process) []row {
	t.Helper()
	var all []row
	query := url.Values{"limit": {"500"}}
	for {
		var page struct {
			Tools  []row  `json:"tools"`
			Cursor string `json:"cursor"`
		}
		if err := p.Client.Get(t.Context(), "/v1/tools", query, &page); err != nil {
			t.Fatalf("list: %v", err)
		}
		all = append(all, page.Tools...)
		if page.Cursor == "" {
			return all
		}
		query.Set("cursor", page.Cursor)
	}
}

func editionOf(description string) int {
	n := 0
	if _, text, ok := strings.Cut(description, "This is edition "); ok {
		if _, err := fmt.Sscanf(text, "%d.", &n); err != nil {
			return 0
		}
	}
	return n
}

func editions(steps []step) []int {
	out := []int{}
	for _, s := range steps {
		out = append(out, s.edition)
	}
	return out
}

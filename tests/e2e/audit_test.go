package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/testing/process"
)

// Every search stands in the log, so that all replicas write to it.
const everySearch = "TOOLSTREAM_AUDIT_SEARCHES=1"

// What callers did is in the log, through crashes and from several replicas at once, and
// whoever changes it is found out.
func TestTheAuditLogHolds(t *testing.T) {
	t.Parallel()
	everywhere(t, auditHolds, everySearch)
}

// round is how many changes and searches stand between two crashes.
const round = 20

func auditHolds(t *testing.T, d process.Deployment) {
	t.Helper()
	changes := 0
	for range 3 {
		for n := range round {
			put(t, d.Front(), fmt.Sprintf("boat-%d", n), strings.Replace(ferry, "strait", fmt.Sprintf("strait %d", changes), 1))
			changes++
		}
		var searches sync.WaitGroup
		for range round {
			for _, p := range d.Fronts() {
				searches.Go(func() { _, _ = ask(t.Context(), p.Client, "cross the strait") })
			}
		}
		searches.Wait()
		d.Crash(t, "ingest", "query-1")
	}
	p := d.Front()
	var shown []audit.Opened
	at(t, p, "audit", "tail", "--json", "--action", "put-tool", "--limit", "1000").decode(t, &shown)
	if len(shown) != changes {
		t.Errorf("%d of %d changes stand in the log", len(shown), changes)
	}
	for _, r := range shown {
		if len(r.Tools) != 1 || r.Tools[0].Revision == 0 || r.Status != 202 || r.Decision != audit.Allowed {
			t.Fatalf("%+v", r)
		}
	}
	// A crash leaves the searches out that were not yet written, and no gap.
	verified := at(t, p, "audit", "verify", "--json")
	var report audit.Report
	verified.decode(t, &report)
	if report.Records < changes+round || len(report.Faults) != 0 || len(report.Heads) < 3 {
		t.Errorf("%d records in %d chains: %+v", report.Records, len(report.Heads), report.Faults)
	}
	heads := writeFile(t, "heads.json", verified.out)
	if again := at(t, p, "audit", "verify", "--heads", heads); again.code != 0 {
		t.Errorf("with what it had reached: %+v", again)
	}
	exported := at(t, p, "audit", "export")
	if whole := cli(t, "", "audit", "verify", writeFile(t, "audit.jsonl", exported.out), "--heads", heads); whole.code != 0 {
		t.Errorf("the export: %+v", whole)
	}
	changed := []byte(exported.out)
	changed[len(changed)/2] ^= 1
	if found := cli(t, "", "audit", "verify", writeFile(t, "changed.jsonl", string(changed))); found.code != 1 || !strings.Contains(found.out, "line ") {
		t.Errorf("a changed byte: %+v", found)
	}
	lines := bytes.SplitAfter([]byte(exported.out), []byte("\n"))
	short := writeFile(t, "short.jsonl", string(bytes.Join(lines[:len(lines)-round], nil))) // some came after the heads
	if found := cli(t, "", "audit", "verify", short, "--heads", heads); found.code != 1 {
		t.Errorf("without its last records: %+v", found)
	}
}

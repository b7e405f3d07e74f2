package sources

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// door stands before a server, and fails as it is told.
type door struct {
	next  http.Handler
	fault atomic.Int32 // one of the faults below, 0 for none
}

// The faults of a server.
const (
	hangs        = iota + 1
	cuts         // in the middle of an answer
	fails        // with status 500
	refuses      // with status 401
	showsPage    // with status 200
	forgets      // its sessions
	liesItIsBare // it lists nothing
	faults       = iota
)

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch d.fault.Load() {
	case hangs:
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
		<-r.Context().Done()
	case cuts:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",")
		_ = http.NewResponseController(w).Flush() // the client may be gone
		panic(http.ErrAbortHandler)
	case fails:
		http.Error(w, "broken", http.StatusInternalServerError)
	case refuses:
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case showsPage:
		fmt.Fprint(w, "<html><body>Log in</body></html>")
	case forgets:
		http.Error(w, "session not found", http.StatusNotFound)
	case liesItIsBare:
		lie(w, r)
	default:
		d.next.ServeHTTP(w, r)
	}
}

// lie answers every request as a list without tools.
func lie(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct{ ID json.RawMessage }
	if json.Unmarshal(body, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}`, m.ID)
}

// Through a thousand faults of fifty servers, and kills of the process, no tool is lost;
// afterwards the index holds what the servers list.
func TestNothingIsLostThroughRealFaults(t *testing.T) {
	level.Campaign(t)
	d := process.Up(t, process.Build(t))
	const n, rounds, kills = 50, 1000, 5
	all := newCrowd(t, n, true)
	all.follow(t, index{d.Front()}, "shop", 5*time.Second)
	index{d.Front()}.settled(t, "shop", n, sources.Live)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, seed))
	want, added := map[string]bool{}, map[string]bool{} // what is indexed, and what will be
	for i := range n {
		want[fmt.Sprintf("shop%d/open", i)] = true
	}
	pause := time.NewTicker(250 * time.Millisecond)
	defer pause.Stop()
	for round := range rounds {
		<-pause.C
		i := r.IntN(n)
		if fault := r.IntN(faults + 2); fault <= faults {
			all.doors[i].fault.Store(int32(fault))
		} else {
			name := fmt.Sprintf("drawer_%d", round)
			all.add(i, name)
			added[fmt.Sprintf("shop%d/%s", i, name)] = true
		}
		if round%(rounds/kills) == rounds/kills-1 {
			d.Crash(t)
		}
		have := listed(t, d.Front())
		if !within(want, have) {
			t.Fatalf("round %d: tools are gone: %d of %d are there", round, len(have), len(want))
		}
		maps.Copy(want, have)
	}
	for i := range all.doors {
		all.doors[i].fault.Store(0)
	}
	maps.Copy(want, added)
	process.Await(t, "the index holds what the servers list", func() (bool, error) {
		have := listed(t, d.Front())
		return within(want, have) && len(have) == len(want), nil
	})
}

func within(all, have map[string]bool) bool {
	for id := range all {
		if !have[id] {
			return false
		}
	}
	return true
}

// listed returns the ids of all tools.
func listed(t *testing.T, p *process.Process) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	cursor := ""
	for {
		var page struct {
			Tools  []struct{ ID string }
			Cursor string
		}
		if err := p.Client.Get(t.Context(), "/v1/tools", map[string][]string{"limit": {"500"}, "cursor": {cursor}}, &page); err != nil {
			t.Fatalf("%v\n%s", err, p.Log())
		}
		for _, tool := range page.Tools {
			ids[tool.ID] = true
		}
		if cursor = page.Cursor; cursor == "" {
			return ids
		}
	}
}

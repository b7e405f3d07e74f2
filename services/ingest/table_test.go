package ingest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func ref(id string) schema.Ref { return schema.Ref{Tenant: home, Kind: schema.KindTool, ID: id} }

// The model is a map; the table has to agree with it on everything, through
// changes of owner, deletes, drops and what comes late.
func TestTableAgreesWithAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, model := NewTable(), map[string]known{}
		ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		agents := rapid.SampledFrom([]string{"", "x", "y"})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := ids.Draw(t, "id")
			key := events.Key(ref(id))
			if rapid.IntRange(0, 9).Draw(t, "drop") == 0 {
				table.drop(key)
				delete(model, id)
				continue
			}
			k := known{
				Version: schema.Version{Revision: rapid.Uint64Range(1, 30).Draw(t, "revision"), Source: rapid.Uint64Range(0, 2).Draw(t, "source")},
				agent:   agents.Draw(t, "agent"),
				deleted: rapid.Bool().Draw(t, "deleted"),
			}
			table.put(ref(id), key, k, place{})
			if old, ok := model[id]; !ok || k.Version.Newer(old.Version) {
				model[id] = k
			}
		}
		compare(t, table, model)
	})
}

func compare(t *rapid.T, table *Table, model map[string]known) {
	if table.Len() != len(model) {
		t.Fatalf("%d entities, want %d", table.Len(), len(model))
	}
	want := map[string][]string{}
	for id, k := range model {
		if got, ok, _ := table.get(events.Key(ref(id))); !ok || got != k {
			t.Fatalf("%s is %+v, want %+v", id, got, k)
		}
		if !k.deleted && k.Revision <= 20 {
			want[k.agent] = append(want[k.agent], id)
		}
	}
	for _, agent := range []string{"", "x", "y", "never"} {
		got := table.owned(home, agent, 20)
		slices.Sort(got)
		slices.Sort(want[agent])
		if !slices.Equal(got, want[agent]) {
			t.Fatalf("tools of %q: %v, want %v", agent, got, want[agent])
		}
	}
}

func TestTableListsToolsOfOneTenantOnly(t *testing.T) {
	table := NewTable()
	for _, r := range []schema.Ref{
		{Tenant: "one", Kind: schema.KindTool, ID: "a"}, {Tenant: "two", Kind: schema.KindTool, ID: "b"},
		{Tenant: "one", Kind: schema.KindAgent, ID: "c"},
	} {
		table.put(r, events.Key(r), known{Version: schema.Version{Revision: 1}, agent: ""}, place{})
	}
	if got := table.owned("one", "", 9); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v", got)
	}
}

func TestMarksOfEvents(t *testing.T) {
	table := NewTable()
	w := newWall()
	event := func(source, id string, at int64) mark {
		e := &events.Event{Source: source, ID: id}
		if at != 0 {
			e.Time = w.now().Add(-1000+1000*1000*1000*1000).AddDate(0, 0, int(at))
		}
		return table.markOf(e)
	}
	first, second := event("s", "1", 1), event("s", "2", 2)
	switch {
	case !first.before(second), second.before(first), first.before(first):
		t.Error("times of one source are not in order")
	case event("other", "1", 1).before(second):
		t.Error("times of two sources were compared")
	case event("s", "1", 0).before(second):
		t.Error("no time was taken for an early one")
	case !first.same(event("s", "1", 7)), first.same(second), first.same(event("other", "1", 1)), (mark{}).same(mark{}):
		t.Error("events are not told apart by source and id")
	}
}

func TestWindowRemembersTheNewest(t *testing.T) {
	w := newWindow(3)
	key := func(i int) eventKey { return keyOf(home, "s", fmt.Sprint(i)) }
	for i := range 5 {
		w.add(key(i))
		w.add(key(i))
	}
	for i := range 5 {
		if w.has(key(i)) != (i >= 2) {
			t.Errorf("event %d: %v", i, w.has(key(i)))
		}
	}
	if len(w.seen) != 3 {
		t.Errorf("%d kept", len(w.seen))
	}
}

// BenchmarkTableMemory reports bytes for each known entity.
func BenchmarkTableMemory(b *testing.B) {
	const entities = 64_000
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		table := NewTable()
		for i := range entities {
			r := ref(strings.Repeat("i", 30) + fmt.Sprint(i))
			table.put(r, events.Key(r), known{Version: schema.Version{Revision: 1}, agent: fmt.Sprint(i / 10)}, place{})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(table)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/entities, "B/entity")
}

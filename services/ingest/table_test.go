package ingest

import (
	"slices"
	"testing"
	"unique"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestTableKeepsTheNewest(t *testing.T) {
	table := newTable()
	version := func(revision, source uint64) schema.Version {
		return schema.Version{Revision: revision, Source: source}
	}
	first := &eventTime{source: unique.Make("s"), time: 2}
	table.put("a", record{Version: version(5, 2), event: first})
	table.put("a", record{Version: version(7, 1), deleted: true})
	table.put("a", record{Version: version(4, 0), deleted: true})
	if r, there, _ := table.get("a"); !there || r.Version != version(5, 2) || r.deleted {
		t.Errorf("after older versions: %+v", r)
	}
	table.put("a", record{Version: version(8, 0)})
	if r, _, _ := table.get("a"); r.Version != version(8, 0) || r.event != first {
		t.Errorf("after a newer version: %+v", r)
	}
	table.drop("a")
	if _, there, _ := table.get("a"); there || table.Len() != 0 {
		t.Error("it is there after its grace time")
	}
}

func TestTableCountsWhatTenantsHave(t *testing.T) {
	table := newTable()
	key := func(tenant, id string) string {
		return events.Key(schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: id})
	}
	revision := uint64(0)
	put := func(key string, deleted bool) {
		revision++
		table.put(key, record{Version: schema.Version{Revision: revision}, deleted: deleted})
	}
	put(key("one", "a"), false)
	put(key("one", "b"), false)
	put(key("one", "b"), false)
	put(key("two", "a"), false)
	put(key("one", "b"), true)
	put(key("one", "c"), true)
	table.put(key("one", "a"), record{deleted: true}) // which is older
	if one, two := table.tally("one"), table.tally("two"); one != (tally{1, 3}) || two != (tally{1, 1}) {
		t.Errorf("%+v, %+v", one, two)
	}
	put(key("one", "b"), false)
	table.drop(key("one", "c"))
	table.drop(key("one", "never there"))
	if one := table.tally("one"); one != (tally{2, 2}) {
		t.Errorf("%+v", one)
	}
	table.drop(key("one", "a"))
	table.drop(key("one", "b"))
	if len(table.tallies) != 1 {
		t.Errorf("%v", table.tallies)
	}
}

func TestTableListsTheToolsOfProviders(t *testing.T) {
	table := newTable()
	for _, e := range []struct {
		ref      schema.Ref
		provider string
		revision uint64
		deleted  bool
	}{
		{schema.Ref{Tenant: "one", Kind: schema.KindTool, ID: "a"}, "x", 1, false},
		{schema.Ref{Tenant: "one", Kind: schema.KindTool, ID: "b"}, "y", 1, false},
		{schema.Ref{Tenant: "one", Kind: schema.KindTool, ID: "another's"}, "z", 1, false},
		{schema.Ref{Tenant: "one", Kind: schema.KindTool, ID: "later"}, "x", 9, false},
		{schema.Ref{Tenant: "one", Kind: schema.KindTool, ID: "deleted"}, "x", 1, true},
		{schema.Ref{Tenant: "one", Kind: schema.KindProvider, ID: "a provider"}, "x", 1, false},
		{schema.Ref{Tenant: "two", Kind: schema.KindTool, ID: "another tenant's"}, "x", 1, false},
	} {
		table.put(events.Key(e.ref), record{Version: schema.Version{Revision: e.revision}, provider: unique.Make(e.provider), deleted: e.deleted})
	}
	got := table.owned("one", 8, func(p unique.Handle[string]) bool { return p.Value() == "x" || p.Value() == "y" })
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
}

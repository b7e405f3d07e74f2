package trainer

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// clusters returns the query clusters of the tenant "default", oldest first.
func (b *bench) clusters() []*cluster {
	b.t.Helper()
	m := check.Value(b.Service.state.loaded())(b.t)
	return m.tenant("default").byAge()
}

// Of the sessions of a client only the newest counts, in whatever order they are read.
func TestAClientHasOneSession(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	b.search("s1", 1, "ann", []string{"x", "y"}, nil)
	b.search("s2", 1, "ann", []string{"x", "y"}, []string{"y"})
	late := b.feedback("s1", "x", schema.Called)
	late.Client = "ann"
	b.must(b.report(late))
	if list := b.clusters(); len(list) != 1 || len(list[0].Sessions) != 1 || list[0].Sessions[0].Search != "s2" {
		t.Errorf("%+v", list)
	}
}

func TestClustersAreBounded(t *testing.T) {
	b := newBench(t, Config{Model: "m", Clusters: 3})
	for i := range 5 {
		b.search(fmt.Sprint("s", i), i, "ann", []string{"x"}, []string{"x"})
	}
	for i := range maxSessions + 8 {
		tools := make([]string, 10)
		for j := range tools {
			tools[j] = fmt.Sprint("t", i*len(tools)+j)
		}
		b.search(fmt.Sprint("more", i), 9, fmt.Sprint("c", i), tools, tools[:1])
	}
	list := b.clusters()
	if len(list) != 3 || b.state.count(keyCluster) != 3 {
		t.Fatalf("%d clusters, %d stored", len(list), b.state.count(keyCluster))
	}
	last := list[2]
	if len(last.Tools) > maxTools || len(last.Sessions) > maxSessions || last.Sessions[len(last.Sessions)-1].Search != fmt.Sprint("more", maxSessions+7) {
		t.Errorf("%d tools of %d sessions", len(last.Tools), len(last.Sessions))
	}
	for _, s := range last.Sessions {
		if want := "t" + fmt.Sprint(10*check.Value(strconv.Atoi(s.Search[len("more"):]))(t)); last.Tools[s.Called[0]].ID != want {
			t.Errorf("session %s called %s, want %s", s.Search, last.Tools[s.Called[0]].ID, want)
		}
	}
}

// A credential that asks for ever new things pushes out what it asked itself.
func TestClustersOfOthersStay(t *testing.T) {
	b := newBench(t, Config{Model: "m", Clusters: 6})
	b.search("kept", 0, "app/ann", []string{"x"}, []string{"x"})
	b.search("shared", 1, "app/ann", []string{"x"}, []string{"x"})
	b.search("shared too", 1, "hostile/0", []string{"x"}, []string{"x"})
	for i := range 20 {
		b.search(fmt.Sprint("s", i), 2+i, fmt.Sprint("hostile/", i), []string{"x"}, []string{"x"})
	}
	list := b.clusters()
	if len(list) != 6 || list[0].Sessions[0].Search != "kept" || list[1].Sessions[0].Search != "shared" || list[5].Sessions[0].Search != "s19" {
		t.Errorf("%d clusters: %+v", len(list), list)
	}
}

func TestSearchesWithoutVectorsAreClustersOfTheirOwn(t *testing.T) {
	b := newBench(t, Config{})
	b.teach("s", 3)
	if n := len(b.clusters()); n != 3 {
		t.Errorf("%d clusters", n)
	}
	if u := b.store.usage(t, "default"); u.Prior["right"] == 0 || len(u.Asked) > 0 {
		t.Errorf("usage %+v", u)
	}
}

// Features of a step are of another text, and providers have the features of a tool.
func TestSamplesAreOfToolsForTheWholeQuery(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	i := b.asking("s", 1, "x", "p", "y")
	i.Shown[0].Step = 2
	i.Shown[1].Kind = schema.KindProvider
	i.Shown[2].Features[fusion.UsagePrior] = 3
	b.must(b.show(i))
	b.must(b.report(b.feedback("s", "x", schema.Called), b.feedback("s", "p", schema.Called), b.feedback("s", "y", schema.Called)))
	c := b.clusters()[0]
	s := c.sample([]float64{2, 2, 2}, b.now, time.Hour)
	if len(s.Candidates) != 1 || s.Candidates[0].ID != "y" || s.Candidates[0].Features[fusion.UsagePrior] != 0 || !slices.Equal(s.Relevant, []string{"x", "y"}) {
		t.Errorf("%+v", s)
	}
}

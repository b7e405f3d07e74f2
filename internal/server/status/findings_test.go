package status

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// well returns the status of a healthy deployment.
func well() Status {
	works := 2
	return Status{
		Mode: ModeDistributed, Ready: true, Tools: 3,
		Operator: Operator{
			Stages:       []Stage{{Name: "standardizer", Workers: &works}, {Name: "embedder-2", Lag: 9, Waiting: 3, Workers: &works}, {Name: "index-writer"}},
			Dependencies: []Dependency{{Name: "Kafka", Address: "k:9092", OK: true, Setting: "kafka.brokers"}, {Name: "ingest", Address: "http://i", OK: true, Setting: "peers.ingest"}},
			Processes: []Process{
				{Services: []string{"query"}, Version: "1", Ready: true, Weights: "w5", Epoch: 5},
				{Services: []string{"query"}, Version: "1", Ready: true, Weights: "w5", Epoch: 5},
				{Services: []string{"trainer"}, Version: "1", Ready: true}, {Services: []string{"trainer"}, Version: "1", Problem: "stands by"},
			},
			Disk:      &Disk{Free: 50e9, Total: 100e9},
			Freshness: &Freshness{Changes: 300, Half: 0.5, Most: 2.5, Goal: 10},
		},
		LLM: &LLMStatus{},
	}
}

func judged(s Status) (f findings) {
	f.judgeOperator(s)
	f.judgeTenant(s)
	return f
}

func TestAHealthyDeploymentHasNoFindings(t *testing.T) {
	for _, f := range judged(well()) {
		if !f.OK || f.Note || f.Remedy != "" {
			t.Errorf("%+v", f)
		}
	}
}

// Neither an idle server nor a blip misses the objective, nor do slow minutes with few changes
// beside many that are quick.
func TestABriefMissOfTheObjectiveIsNoProblem(t *testing.T) {
	for name, s := range map[string]*Freshness{
		"idle": nil, "a blip": {Changes: 3, Most: 60, Goal: 10, Missed: missedMinutes - 1}, "few of many": {Changes: 10_000, Most: 2.5, Goal: 10, Missed: missedMinutes},
	} {
		var f findings
		f.judgeFreshness(s)
		if slices.ContainsFunc(f, func(f Finding) bool { return !f.OK || f.Remedy != "" }) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Each problem is one finding, which names it and its remedy.
func TestEachProblemIsOneFinding(t *testing.T) {
	nobody := 0
	for name, test := range map[string]struct {
		change       func(*Status)
		says, remedy string
		note         bool
	}{
		"not ready":            {func(s *Status) { s.Ready, s.Reason = false, "the index is at 3 of 9" }, "at 3 of 9", "below", false},
		"Kafka away":           {func(s *Status) { s.Dependencies[0].OK, s.Dependencies[0].Problem = false, "refused" }, "k:9092", "kafka.brokers", false},
		"a peer away":          {func(s *Status) { s.Dependencies[1].OK = false }, "http://i", "peers.ingest", false},
		"bus silent":           {func(s *Status) { s.Stages[0].Problem = "no broker" }, "no broker", "bus", false},
		"embedder stopped":     {func(s *Status) { s.Stages[1].Workers = &nobody }, "no process", "toolstream serve embedder", false},
		"Weaviate behind":      {func(s *Status) { s.Stages[2] = Stage{Name: "weaviate", Lag: lagAlarm} }, "weaviate", "toolstream serve embedder", false},
		"far behind":           {func(s *Status) { s.Stages[2].Lag = lagAlarm }, "index-writer", "toolstream serve query", false},
		"long behind":          {func(s *Status) { s.Stages[2].Lag, s.Stages[2].Waiting = 1, 3600 }, "the oldest for 1h0m0s", "minute", false},
		"the objective missed": {func(s *Status) { s.Freshness.Most, s.Freshness.Missed = 60, missedMinutes }, "1m0s", "ToolstreamFreshnessBurnsFast", false},
		"missed beyond bounds": {func(s *Status) { s.Freshness.Most, s.Freshness.Missed = -1, missedMinutes }, "later than", "freshness.objective", false},
		"no trainer":           {func(s *Status) { s.Processes = s.Processes[:2] }, "no trainer works", "toolstream serve trainer", false},
		"old weights":          {func(s *Status) { s.Processes[1].Epoch = 4 }, "epoch 4", "weights rollback", false},
		"a process unready":    {func(s *Status) { s.Processes[0].Ready, s.Processes[0].Problem = false, "catching up" }, "catching up", "log", false},
		"two versions":         {func(s *Status) { s.Processes[0].Version = "2" }, "1, 2", "upgrade", true},
		"an empty index":       {func(s *Status) { s.Tools = 0 }, "0 tools", "toolstream import", false},
		"some bare":            {func(s *Status) { s.Tools, s.Bare = 10, 2 }, "2 tools", "toolstream reindex", true},
		"most bare":            {func(s *Status) { s.Tools, s.Bare = 10, 6 }, "6 tools", "toolstream reindex", false},
		"quarantine":           {func(s *Status) { s.Quarantined = 1 }, "quarantine", "tools release ID", true},
		"pending":              {func(s *Status) { s.Pending, s.Since = 2, &time.Time{} }, "2 tools wait", "standardizer", true},
		"another model": {func(s *Status) {
			s.Models = []Model{{Problem: "the index holds vectors of 384 dimensions"}}
		}, "384 dimensions", "toolstream reindex", false},
		"refused weights": {func(s *Status) { s.Refused = []string{"weights: unexpected end"} }, "unexpected end", "weights promote", false},
		"a part went":     {func(s *Status) { s.Degraded = []string{"rerank"} }, "rerank", "troubleshooting", false},
		"budget spent":    {func(s *Status) { s.LLM.Exhausted = true }, "budget", "llm.daily_cost", false},
		"disk full":       {func(s *Status) { s.Disk.Free = 1e8 }, "0.1 of 100.0 GB", "larger", false},
	} {
		s := well()
		test.change(&s)
		told := slices.DeleteFunc(judged(s), func(f Finding) bool { return f.OK && !f.Note })
		if len(told) != 1 || told[0].Note != test.note || !strings.Contains(told[0].What, test.says) || !strings.Contains(told[0].Remedy, test.remedy) {
			t.Errorf("%s: told %+v, want %q and %q", name, told, test.says, test.remedy)
		}
	}
}

func TestDeadLettersAreFoundByReason(t *testing.T) {
	s := well()
	s.DeadLetters, s.DeadLetterReasons = 3, map[string]int{"invalid": 2, "panic": 1}
	var told, about []string
	for _, f := range judged(s) {
		if !f.OK {
			told = append(told, f.What+" "+f.Remedy)
			about = append(about, f.About+" "+f.Name)
		}
	}
	if len(told) != 3 || !strings.Contains(told[1], "invalid") || !strings.Contains(told[2], "replay --all --reason panic") {
		t.Errorf("%q", told)
	}
	if want := []string{"dead_letters ", "dead_letters invalid", "dead_letters panic"}; !slices.Equal(about, want) {
		t.Errorf("they are about %q, want %q", about, want)
	}
}

func TestSettingsThatContradictTheIndexAreFound(t *testing.T) {
	static, onnx := Model{Setting: "static", State: "live"}, Model{Setting: "onnx:bge", State: "live"}
	for name, tc := range map[string]struct {
		change func(*Reporter)
		models []Model
		says   string // empty: nothing is found
		note   bool
	}{
		"the configured model": {nil, []Model{static}, "", false},
		"another model":        {nil, []Model{onnx}, "onnx:bge", false},
		"on the way":           {nil, []Model{onnx, {Setting: "static", State: "building"}}, "", false},
		"a damaged bus":        {func(r *Reporter) { r.BusDamage = func() error { return errors.New("of 1 keys") } }, []Model{static}, "of 1 keys", false},
		"open to all":          {func(r *Reporter) { r.Config.Listen = "0.0.0.0:1" }, []Model{static}, "everyone", true},
	} {
		r := &Reporter{Setting: "static", Deployment: Deployment{Mode: ModeEmbedded, BusDamage: func() error { return nil }, Topics: func() []string { return nil }}}
		r.Config.Listen = "127.0.0.1:1"
		if tc.change != nil {
			tc.change(r)
		}
		var f findings
		r.judgeSettings(&f, tc.models)
		if tc.says == "" && len(f) == 0 {
			continue
		}
		if len(f) != 1 || f[0].Note != tc.note || f[0].OK != tc.note || tc.says == "" || !strings.Contains(f[0].What, tc.says) || f[0].Remedy == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

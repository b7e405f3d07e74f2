package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/app"
)

// well is the status of a deployment that nothing is wrong with.
func well() app.Status {
	works := 2
	return app.Status{
		Mode: app.ModeDistributed, Ready: true, Tools: 3,
		Stages:       []app.StageStatus{{Name: "standardizer", Workers: &works}, {Name: "embedder-2", Lag: 9, Waiting: 3, Workers: &works}, {Name: "index-writer"}},
		Dependencies: []app.Dependency{{Name: "Kafka", Address: "k:9092", OK: true, Setting: "kafka.brokers"}, {Name: "ingest", Address: "http://i", OK: true, Setting: "peers.ingest"}},
		Processes: []app.Process{
			{Services: []string{"query"}, Version: "1", Ready: true, Weights: "w5", Epoch: 5},
			{Services: []string{"query"}, Version: "1", Ready: true, Weights: "w5", Epoch: 5},
			{Services: []string{"trainer"}, Version: "1", Ready: true}, {Services: []string{"trainer"}, Version: "1", Problem: "stands by"},
		},
		LLM: &app.LLMStatus{}, Disk: &app.Disk{Free: 50e9, Total: 100e9},
	}
}

func TestDoctorFindsNothingWrongWhereNothingIs(t *testing.T) {
	for _, f := range diagnose(well()) {
		if !f.OK || f.Note || f.Remedy != "" {
			t.Errorf("%+v", f)
		}
	}
}

// Each of these is told, with what to do about it, and nothing else is.
func TestDoctorNamesWhatIsWrong(t *testing.T) {
	nobody := 0
	for name, test := range map[string]struct {
		change       func(*app.Status)
		says, remedy string
		note         bool
	}{
		"not ready":         {func(s *app.Status) { s.Ready, s.Reason = false, "the index is at 3 of 9" }, "at 3 of 9", "wait", false},
		"Kafka away":        {func(s *app.Status) { s.Dependencies[0].OK, s.Dependencies[0].Problem = false, "refused" }, "Kafka does not answer at k:9092: refused", "kafka.brokers", false},
		"a peer away":       {func(s *app.Status) { s.Dependencies[1].OK = false }, "ingest does not answer at http://i", "toolstream serve ingest; or correct peers.ingest", false},
		"bus silent":        {func(s *app.Status) { s.Stages[0].Problem = "no broker" }, "standardizer is: no broker", "bring the bus back", false},
		"embedder stopped":  {func(s *app.Status) { s.Stages[1].Workers = &nobody }, "embedder-2 is 9 records behind, the oldest for 3s, and nobody works", "toolstream serve embedder", false},
		"far behind":        {func(s *app.Status) { s.Stages[2].Lag = lagAlarm }, "index-writer is 10000 records behind", "toolstream serve query", false},
		"long behind":       {func(s *app.Status) { s.Stages[2].Lag, s.Stages[2].Waiting = 1, 3600 }, "the oldest for 1h0m0s", "ask again", false},
		"no trainer":        {func(s *app.Status) { s.Processes = s.Processes[:2] }, "no trainer works", "toolstream serve trainer", false},
		"old weights":       {func(s *app.Status) { s.Processes[1].Epoch = 4 }, "w5 (epoch 4), w5 (epoch 5)", "weights rollback", false},
		"a process unready": {func(s *app.Status) { s.Processes[0].Ready, s.Processes[0].Problem = false, "catching up" }, "query at  is not ready: catching up", "log", false},
		"two versions":      {func(s *app.Status) { s.Processes[0].Version = "2" }, "several versions run: 1, 2", "upgrade", true},
		"an empty index":    {func(s *app.Status) { s.Tools = 0 }, "0 tools", "toolstream import", false},
		"some bare":         {func(s *app.Status) { s.Tools, s.Bare = 10, 2 }, "2 tools have no vectors", "toolstream reindex", true},
		"most bare":         {func(s *app.Status) { s.Tools, s.Bare = 10, 6 }, "6 tools have no vectors", "toolstream reindex", false},
		"quarantine":        {func(s *app.Status) { s.Quarantined = 1 }, "1 tools are in quarantine", "llm.quarantine", true},
		"another model": {func(s *app.Status) {
			s.Generations = []app.ModelStatus{{Problem: "the index holds vectors of 384 dimensions"}}
		}, "384 dimensions", "toolstream reindex", false},
		"refused weights": {func(s *app.Status) { s.Refused = []string{"weights: unexpected end"} }, "unexpected end", "weights promote", false},
		"a part went":     {func(s *app.Status) { s.Without = []string{"rerank"} }, "without rerank", "runbook", false},
		"budget spent":    {func(s *app.Status) { s.LLM.Exhausted = true }, "budget", "llm.daily_cost", false},
		"disk full":       {func(s *app.Status) { s.Disk.Free = 1e8 }, "0.1 of 100.0 GB free", "larger", false},
		"a setting": {func(s *app.Status) {
			s.Findings = []app.Finding{{Wrong: true, What: "prices are 0", Remedy: "set them"}}
		}, "prices are 0", "set them", false},
		"a doubtful one": {func(s *app.Status) { s.Findings = []app.Finding{{What: "everybody may call", Remedy: "set tokens"}} }, "everybody may call", "set tokens", true},
	} {
		s := well()
		test.change(&s)
		told := slices.DeleteFunc(diagnose(s), func(f finding) bool { return f.OK && !f.Note })
		if len(told) != 1 || told[0].Note != test.note || !strings.Contains(told[0].What, test.says) || !strings.Contains(told[0].Remedy, test.remedy) {
			t.Errorf("%s: told %+v, want %q and %q", name, told, test.says, test.remedy)
		}
	}
}

func TestDoctorCountsDeadLettersByReason(t *testing.T) {
	s := well()
	s.DeadLetters, s.DeadFor = 3, map[string]int{"invalid": 2, "panic": 1}
	var told []string
	for _, f := range diagnose(s) {
		if !f.OK {
			told = append(told, f.What+" "+f.Remedy)
		}
	}
	if len(told) != 3 || !strings.Contains(told[1], "2 of the dead letters are for invalid") || !strings.Contains(told[2], "replay --all --reason panic") {
		t.Errorf("%q", told)
	}
}

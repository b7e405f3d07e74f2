package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/standardizer"
)

// Bounds of a healthy deployment.
const (
	lagAlarm     = 10_000          // records behind
	waitingAlarm = 5 * time.Minute // since a change was accepted
	freeShare    = 0.1             // of the disk
	freeBytes    = 1e9
)

// Finding is the result of one check.
type Finding struct {
	OK     bool   `json:"ok" doc:"The check found nothing wrong."`
	Note   bool   `json:"note,omitempty" doc:"Nothing is broken, but it may be unintended."`
	What   string `json:"what" doc:"The result in words."`
	Remedy string `json:"remedy,omitempty" doc:"How to solve the problem."`
	About  string `json:"about,omitempty" enum:"dead_letters,source,quarantine,weights" doc:"Subject of the finding, if it is one of these."`
	Name   string `json:"name,omitempty" doc:"The reason of the dead letters, or the name of the source; absent if the finding is about all."`
}

// Subjects of findings.
const (
	aboutDeadLetters = "dead_letters"
	aboutSource      = "source"
	aboutQuarantine  = "quarantine"
	aboutWeights     = "weights"
)

// findings collects the results of checks.
type findings []Finding

// check adds a finding, without the remedy if it is ok.
func (f *findings) check(ok bool, what, remedy string) {
	if ok {
		remedy = ""
	}
	*f = append(*f, Finding{OK: ok, What: what, Remedy: remedy})
}

// note adds a finding that may be unintended.
func (f *findings) note(what, remedy string) {
	*f = append(*f, Finding{OK: true, Note: true, What: what, Remedy: remedy})
}

// about sets the subject of the last finding.
func (f findings) about(subject, name string) {
	last := &f[len(f)-1]
	last.About, last.Name = subject, name
}

// judgeTenant judges the tools of one tenant.
func (f *findings) judgeTenant(s Status) {
	f.judgeIndex(s)
	for _, why := range s.Refused {
		f.check(false, "refused, the last good one serves: "+why, "promote a good version: toolstream weights list, then toolstream weights promote VERSION")
		f.about(aboutWeights, "")
	}
	for _, part := range s.Degraded {
		f.check(false, "the last search went without "+part, "docs/troubleshooting.md, ToolstreamSearchesDegraded, has a remedy for each part")
	}
	if s.LLM != nil && s.LLM.Exhausted {
		f.check(false, "the day's budget of the language model is spent: rules do until midnight UTC", "raise llm.daily_tokens or llm.daily_cost, and restart")
	}
	f.judgeSources(s.Sources)
}

// judgeOperator judges the parts that all tenants share.
func (f *findings) judgeOperator(s Status) {
	state := "it is ready"
	if !s.Ready {
		state = "it is not ready: " + s.Reason
	}
	f.check(s.Ready, state, "it may still be starting: ask again in a minute; its dependencies are below")
	f.judgeDependencies(s)
	f.judgeStages(s)
	f.judgeFreshness(s.Freshness)
	f.judgeProcesses(s)
	for _, m := range s.Models {
		if m.Problem != "" {
			f.check(false, "embedding: "+m.Problem, "see `toolstream reindex`, which lists all models, and the server's log")
		}
	}
	if s.Disk != nil && s.Disk.Total > 0 {
		free, total := float64(s.Disk.Free), float64(s.Disk.Total)
		f.check(free >= freeBytes || free >= freeShare*total, fmt.Sprintf("the disk of %s has %.1f of %.1f GB free", s.Data, free/1e9, total/1e9),
			"make it larger, or move the data folder: once it is full, nothing more is accepted")
	}
}

// judgeDependencies judges the servers and services that the process needs.
func (f *findings) judgeDependencies(s Status) {
	remedies := map[string]string{
		"Kafka":              "bring the brokers back, or correct kafka.brokers, kafka.tls and kafka.sasl and restart; no accepted change is lost, and the services resume by themselves",
		"NATS":               "bring it back, or correct nats.url and its credentials and restart; until then searches use the last known weights",
		"Weaviate":           "bring it back; until then searches use words alone. To do without it, set query.vectors to replica",
		"embedding endpoint": "bring it back, or correct embedder.url and embedder.api_key and restart; until then searches use words alone and new documents wait",
		"language model":     "see the endpoint's error in the log, and correct llm.base_url, llm.model or the key and restart; requests resume by themselves",
	}
	for _, d := range s.Dependencies {
		at := strings.TrimSuffix(" at "+d.Address, " at ")
		what := d.Name + " answers" + at
		if !d.OK {
			what = d.Name + " does not answer" + at + ": " + cmp.Or(d.Problem, "see the server's log")
		}
		remedy := cmp.Or(remedies[d.Name], "start it: toolstream serve "+d.Name+"; or correct "+d.Setting+" and restart")
		f.check(d.OK, what, remedy)
	}
}

// judgeStages looks for a backlog, and for stages without a process.
func (f *findings) judgeStages(s Status) {
	for _, st := range s.Stages {
		waiting := time.Duration(st.Waiting * float64(time.Second)).Round(time.Second)
		what := fmt.Sprintf("%s is %d records behind", st.Name, st.Lag)
		if waiting > 0 {
			what += fmt.Sprintf(", the oldest for %s", waiting)
		}
		service := embedder.StageName // also writes to Weaviate
		switch {
		case st.Name == standardizer.Name:
			service = standardizer.Name
		case strings.HasPrefix(st.Name, embedder.WriterName):
			service = "query"
		}
		switch {
		case st.Problem != "":
			f.check(false, "cannot determine the lag of "+st.Name+": "+st.Problem, "bring the bus back, and ask again")
		case st.Workers != nil && *st.Workers == 0:
			f.check(false, what+", and no process works on it", "start one: toolstream serve "+service)
		default:
			f.check(st.Lag < lagAlarm && waiting < waitingAlarm, what, "an import may be under way: ask again in a minute. If the number does not fall, see the errors in the log of this stage, or run more processes: toolstream serve "+service)
		}
	}
}

// judgeProcesses judges the processes of a distributed deployment. Only one trainer works.
func (f *findings) judgeProcesses(s Status) {
	versions, weights := map[string]bool{}, map[string]bool{}
	trains := false
	for _, p := range s.Processes {
		trains = trains || p.Ready && slices.Contains(p.Services, "trainer")
	}
	for _, p := range s.Processes {
		versions[p.Version] = true
		if p.Weights != "" {
			weights[fmt.Sprintf("%s (epoch %d)", p.Weights, p.Epoch)] = true
		}
		if standsBy := trains && slices.Equal(p.Services, []string{"trainer"}); !p.Ready && !standsBy {
			f.check(false, strings.Join(p.Services, " ")+" at "+p.Address+" is not ready: "+p.Problem, "if it stays so, see its log")
		}
	}
	switch {
	case trains:
		f.check(true, "a trainer works", "")
	case len(s.Processes) > 0:
		f.check(false, "no trainer works: feedback waits on the bus", "start one: toolstream serve trainer")
	}
	if len(versions) > 1 {
		f.note("several versions run: "+list(versions), "an upgrade may be under way; if not, upgrade all")
	}
	if len(weights) > 1 {
		f.check(false, "replicas use different weights: "+list(weights), "ask again in a minute; a replica that stays behind has lost NATS or refused the new weights, see its log: restart it, or `toolstream weights rollback`")
		f.about(aboutWeights, "")
	}
}

func list(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }

// judgeIndex looks for tools that the index does not have, or not completely.
func (f *findings) judgeIndex(s Status) {
	f.check(s.Tools > 0, fmt.Sprintf("%d tools are indexed", s.Tools), "import some: toolstream import PATH")
	f.check(s.DeadLetters == 0, fmt.Sprintf("%d documents are in the dead letters", s.DeadLetters), "see why: toolstream dlq list")
	f.about(aboutDeadLetters, "")
	if s.Bare > 0 {
		what, remedy := fmt.Sprintf("%d tools have no vectors: searches find them by words alone", s.Bare),
			"the embedding model does not know their words, for instance because it was made for another language; change to a model that does with `toolstream reindex --model MODEL`"
		if 2*s.Bare > s.Tools {
			f.check(false, what, remedy)
		} else {
			f.note(what, remedy)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(s.DeadLetterReasons)) {
		f.check(false, fmt.Sprintf("%d of the dead letters are for %s", s.DeadLetterReasons[reason], reason),
			"toolstream dlq list --reason "+reason+"; once the cause is removed: toolstream dlq replay --all --reason "+reason)
		f.about(aboutDeadLetters, reason)
	}
	if s.Pending > 0 {
		f.note(fmt.Sprintf("%d tools wait for the language model since %s: until then searches see them as the rules made them", s.Pending, s.Since.Format(time.RFC3339)),
			"an import may be under way: the model takes seconds for each. If the number does not fall, see the endpoint's error in the log of the standardizer")
	}
	if s.Quarantined > 0 {
		held := "1 document is in quarantine: answers omit it"
		if s.Quarantined != 1 {
			held = fmt.Sprintf("%d documents are in quarantine: answers omit them", s.Quarantined)
		}
		f.note(held, "see `toolstream tools list --quarantined`, and their flags with `toolstream tools get ID`; release harmless documents with `toolstream tools release ID`")
		f.about(aboutQuarantine, "")
	}
}

// judgeSettings looks for settings that contradict each other or the index.
func (r *Reporter) judgeSettings(f *findings, models []Model) {
	if err := r.BusDamage(); err != nil {
		f.check(false, fmt.Sprintf("records on the bus cannot be read: %v", err), "import the named tools again, which replaces their records, or restore the data folder from a backup")
	}
	for _, topic := range r.Topics() {
		f.check(false, "Kafka: "+topic, "`toolstream topics check` shows it; change the topic as docs/kafka-nats.md says")
	}
	configured, searched := false, ""
	for _, m := range models {
		configured = configured || m.Setting == r.Setting && m.State != "previous"
		if m.State == "live" {
			searched = m.Setting
		}
	}
	if !configured {
		f.check(false, fmt.Sprintf("embedder.model is %s, but searches use %s", r.Setting, searched),
			fmt.Sprintf("change the model with `toolstream reindex --model %s`, or set embedder.model back to %s", r.Setting, searched))
	}
	c := r.Config
	if c.Auth.Open() && !config.Loopback(c.Listen) {
		f.note("authentication is off: everyone who reaches "+c.Listen+" may call", "set auth.tokens_file and make tokens with `toolstream token create`, or admit trusted callers only")
	}
	if r.Mode != ModeDistributed {
		return
	}
	if c.Peers.Ingest == "" {
		f.note("peers.ingest is not set: this address accepts no imports", "set it to the address of ingest, or import there")
	}
	if c.Peers.Trainer == "" {
		f.note("peers.trainer is not set: `toolstream weights` does not work at this address", "set it to the address of the trainer")
	}
}

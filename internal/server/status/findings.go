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

// Bounds beyond which a finding is wrong.
const (
	lagAlarm     = 10_000          // records behind
	waitingAlarm = 5 * time.Minute // that a change has waited
	freeShare    = 0.1             // of the disk
	freeBytes    = 1e9
)

// Finding is the result of one check.
type Finding struct {
	OK     bool   `json:"ok" doc:"It is as it should be."`
	Note   bool   `json:"note,omitempty" doc:"Nothing is broken, but it may not be intended."`
	What   string `json:"what" doc:"What was found, in words."`
	Remedy string `json:"remedy,omitempty" doc:"What to do about it."`
	About  string `json:"about,omitempty" enum:"dead_letters,source,quarantine,weights" doc:"What it is about; absent where it is none of these."`
	Name   string `json:"name,omitempty" doc:"Which one: of dead letters the reason, of a source its name; absent where it is about all of them."`
}

// What a finding can be about.
const (
	aboutDeadLetters = "dead_letters"
	aboutSource      = "source"
	aboutQuarantine  = "quarantine"
	aboutWeights     = "weights"
)

// findings collects the results of checks.
type findings []Finding

// check adds what was found, with its remedy unless it is well.
func (f *findings) check(ok bool, what, remedy string) {
	if ok {
		remedy = ""
	}
	*f = append(*f, Finding{OK: ok, What: what, Remedy: remedy})
}

// note adds what may not be intended.
func (f *findings) note(what, remedy string) {
	*f = append(*f, Finding{OK: true, Note: true, What: what, Remedy: remedy})
}

// about says what the last finding is about.
func (f findings) about(what, name string) {
	last := &f[len(f)-1]
	last.About, last.Name = what, name
}

// judgeTenant judges what concerns the tools of one tenant.
func (f *findings) judgeTenant(s Status) {
	f.judgeIndex(s)
	f.judgeRanking(s)
	f.judgeSources(s.Sources)
}

// judgeOperator judges what all tenants share.
func (f *findings) judgeOperator(s Status) {
	state := "it is ready"
	if !s.Ready {
		state = "it is not ready: " + s.Reason
	}
	f.check(s.Ready, state, "it may still start: wait, and ask again; what it needs is below")
	f.judgeDependencies(s)
	f.judgeStages(s)
	f.judgeFreshness(s.Freshness)
	f.judgeProcesses(s)
	for _, m := range s.Models {
		if m.Problem != "" {
			f.check(false, "embedding: "+m.Problem, "look at `toolstream reindex`, which shows every model, and at the server's log")
		}
	}
	if s.Disk != nil && s.Disk.Total > 0 {
		free, total := float64(s.Disk.Free), float64(s.Disk.Total)
		f.check(free >= freeBytes || free >= freeShare*total, fmt.Sprintf("the disk of %s has %.1f of %.1f GB free", s.Data, free/1e9, total/1e9),
			"make it larger, or move the data folder: once it is full, nothing more is accepted")
	}
}

// judgeDependencies judges what the server needs of others.
func (f *findings) judgeDependencies(s Status) {
	remedies := map[string]string{
		"Kafka":              "bring the brokers back, or correct kafka.brokers, kafka.tls and kafka.sasl and start anew; nothing that was accepted is lost, and the services go on by themselves",
		"NATS":               "bring it back, or correct nats.url and its credentials and start anew; until then searches rank by the weights known last",
		"Weaviate":           "bring it back; until then searches go by words alone. To do without it, set query.vectors to replica",
		"embedding endpoint": "bring it back, or correct embedder.url and embedder.api_key and start anew; until then searches go by words and new documents wait",
		"language model":     "its log lines have the endpoint's words: correct llm.base_url, llm.model or the key and start anew; it is asked again by itself",
	}
	for _, d := range s.Dependencies {
		at := strings.TrimSuffix(" at "+d.Address, " at ")
		what := d.Name + " answers" + at
		if !d.OK {
			what = d.Name + " does not answer" + at + ": " + cmp.Or(d.Problem, "see the server's log")
		}
		remedy := cmp.Or(remedies[d.Name], "start it: toolstream serve "+d.Name+"; or correct "+d.Setting+" and start anew")
		f.check(d.OK, what, remedy)
	}
}

// judgeStages looks for records that wait, and for stages without a process.
func (f *findings) judgeStages(s Status) {
	for _, st := range s.Stages {
		waiting := time.Duration(st.Waiting * float64(time.Second)).Round(time.Second)
		what := fmt.Sprintf("%s is %d records behind", st.Name, st.Lag)
		if waiting > 0 {
			what += fmt.Sprintf(", the oldest for %s", waiting)
		}
		service := serviceOf(st.Name)
		switch {
		case st.Problem != "":
			f.check(false, "how far "+st.Name+" is cannot be asked: "+st.Problem, "bring the bus back, and ask again")
		case st.Workers != nil && *st.Workers == 0:
			f.check(false, what+", and no process works on it", "start one: toolstream serve "+service)
		default:
			f.check(st.Lag < lagAlarm && waiting < waitingAlarm, what, "an import may be under way: ask again in a minute. If the number does not fall, the log of this stage says what it tries again; more of them: toolstream serve "+service)
		}
	}
}

// serviceOf names the service that a stage runs in.
func serviceOf(stage string) string {
	switch {
	case stage == standardizer.Name:
		return standardizer.Name
	case strings.HasPrefix(stage, embedder.WriterName):
		return "query"
	}
	return embedder.StageName // which writes to Weaviate, too
}

// judgeProcesses judges processes that run apart. Of several trainers one works.
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
			f.check(false, strings.Join(p.Services, " ")+" at "+p.Address+" is not ready: "+p.Problem, "if it does not come to it, its log says why")
		}
	}
	switch {
	case trains:
		f.check(true, "a trainer works", "")
	case len(s.Processes) > 0:
		f.check(false, "no trainer works: feedback waits on the bus", "start one: toolstream serve trainer")
	}
	if len(versions) > 1 {
		f.note("several versions run: "+list(versions), "an upgrade may be under way; else bring all to one")
	}
	if len(weights) > 1 {
		f.check(false, "replicas rank by different weights: "+list(weights), "ask again in a minute; one that stays behind has lost NATS or refused the new ones, as its log says: start it anew, or `toolstream weights rollback`")
		f.about(aboutWeights, "")
	}
}

func list(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }

// judgeIndex looks for what the index lacks.
func (f *findings) judgeIndex(s Status) {
	f.check(s.Tools > 0, fmt.Sprintf("%d tools are indexed", s.Tools), "import some: toolstream import PATH")
	f.check(s.DeadLetters == 0, fmt.Sprintf("%d documents are in the dead letters", s.DeadLetters), "see why: toolstream dlq list")
	f.about(aboutDeadLetters, "")
	if s.Bare > 0 {
		what, remedy := fmt.Sprintf("%d tools have no vectors: they are found by words alone", s.Bare),
			"the embedding model knows none of their words, as with languages that it was not made for; one that does is changed to with `toolstream reindex --model MODEL`"
		if 2*s.Bare > s.Tools {
			f.check(false, what, remedy)
		} else {
			f.note(what, remedy)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(s.DeadLetterReasons)) {
		f.check(false, fmt.Sprintf("%d of the dead letters are for %s", s.DeadLetterReasons[reason], reason),
			"toolstream dlq list --reason "+reason+"; once that is mended: toolstream dlq replay --all --reason "+reason)
		f.about(aboutDeadLetters, reason)
	}
	if s.Pending > 0 {
		f.note(fmt.Sprintf("%d tools wait for the language model since %s: they are searched as rules made them", s.Pending, s.Since.Format(time.RFC3339)),
			"an import may be under way: the model takes seconds for each. If the number does not fall, the log of the standardizer has the endpoint's words")
	}
	if s.Quarantined > 0 {
		f.note(fmt.Sprintf("%d documents are in quarantine: answers leave them out", s.Quarantined), "`toolstream tools list --quarantined` names them and `toolstream tools get ID` their flags: let the harmless ones out with `toolstream tools release ID`")
		f.about(aboutQuarantine, "")
	}
}

// judgeRanking judges what searches are answered with.
func (f *findings) judgeRanking(s Status) {
	for _, why := range s.Refused {
		f.check(false, "refused, the last good one serves: "+why, "make a good version live: toolstream weights list, then toolstream weights promote VERSION")
		f.about(aboutWeights, "")
	}
	for _, part := range s.Degraded {
		f.check(false, "the last search went without "+part, "docs/runbook.md, ToolstreamSearchesDegraded, says what each part needs")
	}
	if s.LLM != nil && s.LLM.Exhausted {
		f.check(false, "the day's budget of the language model is spent: rules do until midnight UTC", "raise llm.daily_tokens or llm.daily_cost, and start anew")
	}
}

// judgeSettings looks for settings that contradict each other or the index.
func (r *Reporter) judgeSettings(f *findings, models []Model) {
	if r.BusDamage != nil {
		if err := r.BusDamage(); err != nil {
			f.check(false, fmt.Sprintf("records on the bus cannot be read: %v", err), "import the named tools again, which replaces their records, or restore the data folder from a backup")
		}
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
		f.note("everyone who reaches "+c.Listen+" may call", "set auth.tokens_file and make tokens with `toolstream token create`, or let only trusted callers in")
	}
	if r.Mode != ModeDistributed {
		return
	}
	if c.Peers.Ingest == "" {
		f.note("peers.ingest is not set: this address takes no imports", "set it to where ingest answers, or import there")
	}
	if c.Peers.Trainer == "" {
		f.note("peers.trainer is not set: `toolstream weights` does not work at this address", "set it to where the trainer answers")
	}
	for _, topic := range r.Topics() {
		f.check(false, "Kafka: "+topic, "`toolstream topics check` shows it; change the topic as docs/operations.md says")
	}
}

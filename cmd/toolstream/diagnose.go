package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/services/embedder"
)

// What doctor passes without comment.
const (
	lagAlarm     = 10_000          // records behind
	waitingAlarm = 5 * time.Minute // that a change has waited
	freeShare    = 0.1             // of the disk
	freeBytes    = 1e9
)

// diagnose judges a status.
func diagnose(s app.Status) []finding {
	state := "it is ready"
	if !s.Ready {
		state = "it is not ready: " + s.Reason
	}
	findings := []finding{check(s.Ready, state, "it may still start: wait, and ask again; what it needs is below")}
	for _, part := range [][]finding{needs(s), stages(s), processes(s), contents(s), ranking(s), machine(s)} {
		findings = append(findings, part...)
	}
	for _, f := range s.Findings {
		findings = append(findings, finding{OK: !f.Wrong, Note: !f.Wrong, What: f.What, Remedy: f.Remedy})
	}
	return findings
}

// needs looks at what the server asks others for.
func needs(s app.Status) []finding {
	remedies := map[string]string{
		"Kafka":              "bring the brokers back, or correct kafka.brokers, kafka.tls and kafka.sasl and start anew; nothing that was accepted is lost, and the services go on by themselves",
		"NATS":               "bring it back, or correct nats.url and its credentials and start anew; until then searches rank by the weights known last",
		"Weaviate":           "bring it back; until then searches go by the replica's own words and vectors. To do without it, set query.vectors to replica",
		"embedding endpoint": "bring it back, or correct embedder.url and embedder.api_key and start anew; until then searches go by words and new documents wait",
		"language model":     "its log lines have the endpoint's words: correct llm.base_url, llm.model or the key and start anew; it is asked again by itself",
	}
	var findings []finding
	for _, d := range s.Dependencies {
		at := strings.TrimSuffix(" at "+d.Address, " at ")
		what := d.Name + " answers" + at
		if !d.OK {
			what = d.Name + " does not answer" + at + ": " + cmp.Or(d.Problem, "see the server's log")
		}
		remedy := cmp.Or(remedies[d.Name], "start it: toolstream serve "+d.Name+"; or correct "+d.Setting+" and start anew")
		findings = append(findings, check(d.OK, what, remedy))
	}
	return findings
}

// stages looks for what waits, and for who works on it.
func stages(s app.Status) []finding {
	var findings []finding
	for _, st := range s.Stages {
		waiting := time.Duration(st.Waiting * float64(time.Second)).Round(time.Second)
		what := fmt.Sprintf("%s is %d records behind", st.Name, st.Lag)
		if waiting > 0 {
			what += fmt.Sprintf(", the oldest for %s", waiting)
		}
		service := serviceOf(st.Name)
		switch {
		case st.Problem != "":
			findings = append(findings, finding{What: "nobody knows how far " + st.Name + " is: " + st.Problem, Remedy: "bring the bus back, and ask again"})
		case st.Workers != nil && *st.Workers == 0:
			findings = append(findings, finding{What: what + ", and nobody works on it", Remedy: "start one: toolstream serve " + service})
		default:
			findings = append(findings, check(st.Lag < lagAlarm && waiting < waitingAlarm, what, "an import may be under way: ask again in a minute. If the number does not fall, the log of this stage says what it tries again; more of them: toolstream serve "+service))
		}
	}
	return findings
}

// serviceOf names the service that a stage runs in.
func serviceOf(stage string) string {
	if strings.HasPrefix(stage, embedder.WriterName) {
		return app.QueryService
	}
	service, _, _ := strings.Cut(stage, "-")
	return service
}

// processes looks at those that run apart. Of several trainers one works.
func processes(s app.Status) []finding {
	var findings []finding
	versions, weights := map[string]bool{}, map[string]bool{}
	trains := false
	for _, p := range s.Processes {
		trains = trains || p.Ready && slices.Contains(p.Services, app.TrainerService)
	}
	for _, p := range s.Processes {
		versions[p.Version] = true
		if p.Weights != "" {
			weights[fmt.Sprintf("%s (epoch %d)", p.Weights, p.Epoch)] = true
		}
		if standsBy := trains && slices.Equal(p.Services, []string{app.TrainerService}); !p.Ready && !standsBy {
			findings = append(findings, finding{What: strings.Join(p.Services, " ") + " at " + p.Address + " is not ready: " + p.Problem, Remedy: "if it does not come to it, its log says why"})
		}
	}
	switch {
	case trains:
		findings = append(findings, check(true, "a trainer works", ""))
	case len(s.Processes) > 0:
		findings = append(findings, finding{What: "no trainer works: feedback waits on the bus", Remedy: "start one: toolstream serve trainer"})
	}
	if len(versions) > 1 {
		findings = append(findings, note("several versions run: "+list(versions), "an upgrade may be under way; else bring all to one"))
	}
	if len(weights) > 1 {
		findings = append(findings, finding{What: "replicas rank by different weights: " + list(weights), Remedy: "ask again in a minute; one that stays behind has lost NATS or refused the new ones, as its log says: start it anew, or `toolstream weights rollback`"})
	}
	return findings
}

func list(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }

// contents looks for what the index lacks.
func contents(s app.Status) []finding {
	findings := []finding{
		check(s.Tools > 0, fmt.Sprintf("%d tools are indexed", s.Tools), "import some: toolstream import PATH"),
		check(s.DeadLetters == 0, fmt.Sprintf("%d documents are in the dead letters", s.DeadLetters), "see why: toolstream dlq list"),
	}
	if s.Bare > 0 {
		tell := note
		if 2*s.Bare > s.Tools {
			tell = func(what, remedy string) finding { return finding{What: what, Remedy: remedy} }
		}
		findings = append(findings, tell(fmt.Sprintf("%d tools have no vectors: they are found by words alone", s.Bare), "the embedding model knows none of their words, as with languages that it was not made for; one that does is changed to with `toolstream reindex --model MODEL`"))
	}
	for _, reason := range slices.Sorted(maps.Keys(s.DeadFor)) {
		findings = append(findings, finding{
			What:   fmt.Sprintf("%d of the dead letters are for %s", s.DeadFor[reason], reason),
			Remedy: "toolstream dlq list --reason " + reason + "; once that is mended: toolstream dlq replay --all --reason " + reason,
		})
	}
	if s.Quarantined > 0 {
		findings = append(findings, note(fmt.Sprintf("%d tools are in quarantine: searches leave them out", s.Quarantined), "their texts give instructions to a model: mend them at their source and import again, or set llm.quarantine to off"))
	}
	for _, g := range s.Generations {
		if g.Problem != "" {
			findings = append(findings, finding{What: "embedding: " + g.Problem, Remedy: "look at `toolstream reindex`, which shows every model, and at the server's log"})
		}
	}
	return findings
}

// ranking looks at what searches are answered with.
func ranking(s app.Status) []finding {
	var findings []finding
	for _, why := range s.Refused {
		findings = append(findings, finding{What: "refused, the last good one serves: " + why, Remedy: "make a good version live: toolstream weights list, then toolstream weights promote VERSION"})
	}
	for _, part := range s.Without {
		findings = append(findings, finding{What: "the last search went without " + part, Remedy: "docs/runbook.md, ToolstreamSearchesDegraded, says what each part needs"})
	}
	if s.LLM != nil && s.LLM.Exhausted {
		findings = append(findings, finding{What: "the day's budget of the language model is spent: rules do until midnight UTC", Remedy: "raise llm.daily_tokens or llm.daily_cost, and start anew"})
	}
	return findings
}

// machine looks at the disk.
func machine(s app.Status) []finding {
	if s.Disk == nil || s.Disk.Total == 0 {
		return nil
	}
	free, total := float64(s.Disk.Free), float64(s.Disk.Total)
	what := fmt.Sprintf("the disk of %s has %.1f of %.1f GB free", s.Data, free/1e9, total/1e9)
	return []finding{check(free >= freeBytes || free >= freeShare*total, what, "make it larger, or move the data folder: once it is full, nothing more is accepted")}
}

package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer"
)

// importer carries one import.
type importer struct {
	con      *console
	flags    importFlags
	progress *progress
	summary  summary

	changes []change            // accepted, or known already, in order
	keep    map[string][]string // ids that were sent, by agent
	lost    bool                // something was rejected without an id
	start   uint64              // revision below which tools were there before
	cost    *standardizer.Estimator
}

// change is an accepted change on its way to the index.
type change struct {
	Kind     string `json:"kind,omitempty"`
	ID       string `json:"id"`
	Revision uint64 `json:"revision"`
}

// batchLine is a line of the answer to a batch: the outcome of one document,
// or, on the last line, the counts.
type batchLine struct {
	change
	Line    int           `json:"line"`
	Agent   string        `json:"agent"`
	State   string        `json:"state"`
	Deleted bool          `json:"deleted"`
	Reason  string        `json:"reason"`
	Path    string        `json:"path"`
	Detail  string        `json:"detail"`
	Summary *batchSummary `json:"summary"`
}

type batchSummary struct {
	Start uint64 `json:"start"`
	Error string `json:"error"`
}

func newImporter(c *console, f importFlags, all []source) *importer {
	var size int64
	for _, s := range all {
		if s.size == 0 {
			size = -1 // unknown: the bar only counts
			break
		}
		size += s.size
	}
	i := &importer{con: c, flags: f, progress: newProgress(c, "importing", size, true), keep: map[string][]string{}}
	i.summary.Errors = []importFailed{}
	if f.cost {
		i.cost = standardizer.NewEstimator()
	}
	return i
}

func (i *importer) one(ctx context.Context, src source) error {
	r, err := src.open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	body := i.progress.reader(r)
	if i.flags.dryRun {
		return i.check(ctx, body, src)
	}
	return i.send(ctx, body, src)
}

// check reads a source as the server would, without sending it.
func (i *importer) check(ctx context.Context, r io.Reader, src source) error {
	opt := formats.Options{Source: src.name, Agent: i.flags.agent, Format: i.flags.format}
	for item, problem := range formats.Read(r, opt) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if problem != nil {
			reason := *problem
			reason.Source, reason.Line = "", 0
			i.summary.failed(src.name, problem.Line, problem.ID, reason.Error())
			continue
		}
		i.summary.Accepted++
		if i.cost != nil && item.Kind != schema.KindAgent {
			i.cost.Add(item.Format, item.ID, item.Raw)
			estimate := i.cost.Estimate()
			i.summary.Estimate = &estimate
		}
	}
	return ctx.Err()
}

func (i *importer) send(ctx context.Context, r io.Reader, src source) error {
	query := url.Values{"source": {src.name}, "agent": {i.flags.agent}, "format": {i.flags.format}}
	maps.DeleteFunc(query, func(_ string, v []string) bool { return v[0] == "" })
	answer, err := i.con.client().Send(ctx, http.MethodPost, "/v1/tools:batch", query, "application/octet-stream", r)
	if refused := (*client.Problem)(nil); errors.As(err, &refused) && aboutTheDocument(refused.Status) {
		i.lost = true
		i.summary.failed(src.name, 0, "", refused.Text())
		return nil
	}
	if err != nil {
		return err
	}
	defer answer.Close()
	lines := bufio.NewReader(answer)
	for {
		raw, err := lines.ReadBytes('\n')
		if err != nil {
			return errCutOff // the last line is the summary, after which we do not read on
		}
		var line batchLine
		if err := json.Unmarshal(raw, &line); err != nil {
			return fmt.Errorf("the server's answer: %w", err)
		}
		if line.Summary != nil {
			return i.endOfBatch(*line.Summary)
		}
		i.count(src, line)
	}
}

// aboutTheDocument reports whether a status says that the source can not be
// taken, which is no reason not to try the next one.
func aboutTheDocument(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

func (i *importer) endOfBatch(s batchSummary) error {
	if i.start == 0 || s.Start < i.start {
		i.start = s.Start
	}
	if s.Error != "" {
		return fmt.Errorf("%s; what has no answer may or may not be accepted; import again", s.Error)
	}
	return nil
}

func (i *importer) count(src source, line batchLine) {
	if line.ID != "" && line.Kind != "agent" {
		i.keep[line.Agent] = append(i.keep[line.Agent], line.ID)
	}
	switch line.State {
	case "accepted":
		i.summary.Accepted++
		i.changes = append(i.changes, line.change)
	case "unchanged": // it may be on its way still
		i.summary.Unchanged++
		i.changes = append(i.changes, line.change)
	case "superseded":
		i.summary.Unchanged++
	case "stale":
		i.summary.Stale++
	default:
		i.lost = i.lost || line.ID == ""
		i.summary.failed(src.name, line.Line, line.ID, line.why())
	}
}

// why says as much as is known of a rejection, and nothing twice.
func (l batchLine) why() string {
	parts := []string{l.Reason, l.Path, l.Detail}
	switch {
	case strings.HasPrefix(l.Detail, l.Reason):
		parts[0] = ""
	case strings.HasPrefix(l.Detail, l.Path):
		parts[1] = ""
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// sync deletes, of every agent that was imported, the tools that were there
// before and were not in the import.
func (i *importer) sync(ctx context.Context) error {
	if i.lost {
		i.con.notef("nothing is deleted: documents without an id were rejected, and they may be tools that are still there\n")
		return nil
	}
	for _, agent := range slices.Sorted(maps.Keys(i.keep)) {
		if agent == "" {
			continue
		}
		var answer struct {
			Deleted []change `json:"deleted"`
		}
		request := map[string]any{"agent": agent, "keep": i.keep[agent], "upto": i.start}
		if err := i.con.client().Post(ctx, "/v1/tools:sync", request, &answer); err != nil {
			return err
		}
		i.summary.Deleted += len(answer.Deleted)
		i.changes = append(i.changes, answer.Deleted...)
	}
	return nil
}

// newest returns the newest revision of each entity that was changed: the
// older ones are superseded and never seen.
func (i *importer) newest() []change {
	last := map[[2]string]change{}
	for _, c := range i.changes {
		key := [2]string{c.Kind, c.ID}
		if c.Revision > last[key].Revision {
			last[key] = c
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b change) int { return cmp.Compare(a.Revision, b.Revision) })
}

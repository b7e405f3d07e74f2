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
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// importer carries one import.
type importer struct {
	con      *console
	flags    importFlags
	progress *progress
	summary  summary

	changes   []change        // accepted, or known already, in order
	keep      []string        // ids of the tools that were sent, rejected ones included
	providers map[string]bool // of the tools that were sent
	lost      bool            // something was rejected without an id: it may be any tool
	start     uint64          // revision: what was there before the import has a lower one
	cost      *standardizer.Estimator
}

// change is an accepted change on its way to the index.
type change struct {
	Kind     schema.Kind `json:"kind,omitempty"`
	ID       string      `json:"id"`
	Revision uint64      `json:"revision"`
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
	i := &importer{con: c, flags: f, progress: newProgress(c, "importing", size, true), providers: map[string]bool{}}
	if f.provider != "" {
		i.providers[f.provider] = true
	}
	i.summary.Errors = []importError{}
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
	opt := formats.Options{Source: src.name, Provider: i.flags.provider, Format: i.flags.format}
	for item, problem := range formats.Read(r, opt) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if problem != nil {
			reason := *problem
			reason.Source, reason.Line = "", 0
			i.sent("", problem.ID, "", true)
			i.summary.failed(src.name, problem.Line, problem.ID, reason.Error())
			continue
		}
		i.sent(item.Kind, item.ID, item.Provider, false)
		i.summary.Documents = append(i.summary.Documents, described(item))
		i.summary.Accepted++
		if i.cost != nil && item.Kind != schema.KindProvider {
			i.cost.Add(item.Format, item.ID, item.Raw)
			estimate := i.cost.Estimate()
			i.summary.Estimate = &estimate
		}
	}
	return ctx.Err()
}

// described returns an item with what rules make of it.
func described(item formats.Item) importDocument {
	d := importDocument{Kind: item.Kind, ID: item.ID, Provider: item.Provider, Format: item.Format, Delete: item.Delete}
	doc, err := rules.Standardize(item.Format, item.ID, item.Raw)
	if err != nil {
		return d
	}
	if trace, err := provenance.OfRaw(item.Raw, &doc); err == nil {
		d.Coverage = trace.Coverage
	}
	for _, field := range []struct {
		name   string
		filled bool
	}{
		{"description", doc.Description != ""}, {"parameters", len(doc.Parameters) > 0}, {"response", doc.Response != ""}, {"examples", len(doc.Examples) > 0},
	} {
		if field.filled {
			d.Fields = append(d.Fields, field.name)
		}
	}
	return d
}

func (i *importer) send(ctx context.Context, r io.Reader, src source) error {
	query := given("source", src.name, "provider", i.flags.provider, "format", i.flags.format)
	if i.flags.takeOver {
		query.Set("take_over", "true")
	}
	answer, _, err := i.con.client().Send(ctx, http.MethodPost, "/v1/tools:batch", query, "application/octet-stream", r)
	if refused := (*client.Problem)(nil); errors.As(err, &refused) && slices.Contains(refusesDocument, refused.Status) {
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
		var line struct { // the outcome of a document, or on the last line the counts
			ingest.Outcome
			Summary *ingest.Summary `json:"summary"`
		}
		if err := json.Unmarshal(raw, &line); err != nil {
			return fmt.Errorf("the server's answer: %w", err)
		}
		s := line.Summary
		if s == nil {
			i.count(src, line.Outcome)
			continue
		}
		if i.start == 0 || s.Start < i.start {
			i.start = s.Start
		}
		if s.Error != "" {
			return fmt.Errorf("%s; what has no answer may or may not be accepted; import again", s.Error)
		}
		return nil
	}
}

// refusesDocument are the statuses that refuse one source, so that the next source may be
// accepted.
var refusesDocument = []int{
	http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
}

func (i *importer) count(src source, o ingest.Outcome) {
	i.sent(o.Kind, o.ID, o.Provider, o.State == ingest.Rejected)
	if o.TakenFrom != "" {
		i.summary.TakenOver++
	}
	switch o.State {
	case ingest.Accepted:
		i.summary.Accepted++
		i.changes = append(i.changes, change{o.Kind, o.ID, o.Revision})
	case ingest.Unchanged: // it may be on its way still
		i.summary.Unchanged++
		i.changes = append(i.changes, change{o.Kind, o.ID, o.Revision})
	case ingest.Superseded:
		i.summary.Unchanged++
	case ingest.Stale:
		i.summary.Stale++
	default:
		i.summary.failed(src.name, o.Line, o.ID, whyRejected(o))
	}
}

// sent notes what sync has to know of a document.
func (i *importer) sent(kind schema.Kind, id, provider string, rejected bool) {
	switch {
	case id == "":
		i.lost = true
	case kind != schema.KindProvider:
		i.keep = append(i.keep, id)
		if provider != "" && !rejected {
			i.providers[provider] = true
		}
	}
}

// whyRejected returns the reason, the path and the detail of a rejection, and nothing
// twice.
func whyRejected(o ingest.Outcome) string {
	parts := []string{o.Reason, o.Path, o.Detail}
	switch {
	case strings.HasPrefix(o.Detail, o.Reason):
		parts[0] = ""
	case strings.HasPrefix(o.Detail, o.Path):
		parts[1] = ""
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// sync deletes the tools that the imported providers had before and that were not in
// the import. In a dry run it only asks for them.
func (i *importer) sync(ctx context.Context) error {
	if i.lost {
		i.con.notef("nothing is deleted: documents without an id were rejected, and they may be tools that are still there\n")
		return nil
	}
	if len(i.providers) == 0 {
		return nil
	}
	request := map[string]any{"providers": slices.Sorted(maps.Keys(i.providers)), "keep": append([]string{}, i.keep...)}
	if i.flags.dryRun {
		request["dry_run"] = true
	} else {
		request["upto"] = i.start
	}
	var answer struct {
		Deleted []change `json:"deleted"`
		Missing []string `json:"missing"`
	}
	if err := i.con.client().Post(ctx, "/v1/tools:sync", request, &answer); err != nil {
		return err
	}
	i.summary.Missing = answer.Missing
	i.summary.Deleted = len(answer.Deleted)
	i.changes = append(i.changes, answer.Deleted...)
	return nil
}

// newest returns the newest revision of each entity that was changed: the
// older ones are superseded and never seen.
func (i *importer) newest() []change {
	last := map[schema.Ref]change{}
	for _, c := range i.changes {
		key := schema.Ref{Kind: c.Kind, ID: c.ID}
		if c.Revision > last[key].Revision {
			last[key] = c
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b change) int { return cmp.Compare(a.Revision, b.Revision) })
}

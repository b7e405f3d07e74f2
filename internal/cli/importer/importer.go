// Package importer sends tool documents from files, folders, URLs and standard input to a
// server, and counts the outcomes.
package importer

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Options configure an import.
type Options struct {
	Provider string // owner of the tools; overrides the documents
	TakeOver bool   // tools that belong to another provider change hands
	Format   string // empty: found automatically
	Sync     bool   // also delete the tools that the imported providers no longer have
	Wait     bool   // until everything is searchable or a dead letter
	DryRun   bool   // read and check only
	Estimate bool   // with DryRun: estimate the cost of a language model
}

// Run imports the sources that paths name (see Expand). After an error, the remaining sources
// were not tried.
func Run(ctx context.Context, t *program.Terminal, server *client.Client, paths []string, o Options) (*Summary, error) {
	all, err := Expand(t.In, paths)
	if err != nil {
		return nil, err
	}
	o.Format = cmp.Or(o.Format, formats.Auto)
	i := newImporter(t, server, o, all)
	defer i.progress.Close()
	for n, src := range all {
		i.at = uint32(n)
		if err := i.one(ctx, src); err != nil {
			switch {
			case ctx.Err() != nil && o.DryRun:
				return nil, errors.New("interrupted")
			case ctx.Err() != nil:
				err = errInterrupted
			}
			return nil, fmt.Errorf("%s: %w (%d accepted and %d unchanged until then)", src.title(), err, i.summary.Accepted, i.summary.Unchanged)
		}
	}
	if o.Sync {
		if err := i.sync(ctx); err != nil {
			return nil, fmt.Errorf("sync: %w", err)
		}
	}
	i.progress.Close()
	if o.Wait {
		if err := i.wait(ctx); err != nil {
			return nil, fmt.Errorf("wait: %w", err)
		}
	}
	return &i.summary, nil
}

var errInterrupted = errors.New("interrupted: documents without an answer may or may not be accepted; import again")

var errCutOff = errors.New("the server's answer ended early: documents without an answer may or may not be accepted; import again")

// importer is the state of an import.
type importer struct {
	term     *program.Terminal
	server   *client.Client
	options  Options
	progress *program.Progress
	summary  Summary

	sources []Source
	at      uint32           // index of the source that is being imported
	given   map[uint64]given // by the hash of kind and id; empty with one source
	seed    maphash.Seed

	changes   []change        // accepted, or known already, in order
	keep      []string        // ids of the sent tools, including rejected ones
	providers map[string]bool // of the tools that were sent
	lost      bool            // something was rejected without an id: it may be any tool
	start     uint64          // revision: everything from before the import has a lower one
	cost      *standardizer.Estimator
}

// given says which source gave an entity.
type given struct {
	source  uint32
	content uint64 // hash, in a dry run
}

// change is an accepted change on its way to the index.
type change struct {
	Kind     schema.Kind `json:"kind,omitempty"`
	ID       string      `json:"id"`
	Revision uint64      `json:"revision"`
}

func newImporter(t *program.Terminal, server *client.Client, o Options, all []Source) *importer {
	var size int64
	for _, s := range all {
		if s.Size == 0 {
			size = -1 // unknown: the bar only counts
			break
		}
		size += s.Size
	}
	i := &importer{term: t, server: server, options: o, progress: t.Progress("importing", size, true), providers: map[string]bool{},
		sources: all, given: map[uint64]given{}, seed: maphash.MakeSeed()}
	if o.Provider != "" {
		i.providers[o.Provider] = true
	}
	i.summary.Errors = []Rejection{}
	if o.Estimate {
		i.cost = standardizer.NewEstimator()
	}
	return i
}

func (i *importer) one(ctx context.Context, src Source) error {
	r, err := src.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	body := i.progress.Reader(r)
	if i.options.DryRun {
		return i.check(ctx, body, src)
	}
	return i.send(ctx, body, src)
}

// check reads a source as the server would, without sending it.
func (i *importer) check(ctx context.Context, r io.Reader, src Source) error {
	opt := formats.Options{Source: src.address(), Provider: i.options.Provider, Format: i.options.Format}
	for item, problem := range formats.Read(r, opt) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if problem != nil {
			reason := *problem
			reason.Source, reason.Line = "", 0
			i.sent("", problem.ID, "", true)
			i.summary.failed(src.Name, problem.Line, problem.ID, reason.Error())
			continue
		}
		if place := i.clash(item); place != "" {
			i.sent(item.Kind, item.ID, "", true)
			i.summary.failed(src.Name, item.Line, item.ID, givenBy(place))
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

// clash returns the title of another source that gave the id of an item other content, or "". As at
// the server, later documents of the same source, deletes and source versions replace it.
func (i *importer) clash(item formats.Item) (place string) {
	if len(i.sources) == 1 {
		return ""
	}
	key := i.key(item.Kind, item.ID)
	if item.Delete {
		delete(i.given, key)
		return ""
	}
	content := maphash.String(i.seed, item.Hash+"\x00"+item.Provider+"\x00"+item.Format)
	switch before, twice := i.given[key]; {
	case !twice || before.source == i.at || item.SourceVersion != 0:
		i.given[key] = given{i.at, content}
	case before.content != content:
		return i.sources[before.source].title()
	}
	return ""
}

func (i *importer) key(kind schema.Kind, id string) uint64 {
	return maphash.String(i.seed, string(cmp.Or(kind, schema.KindTool))+"\x00"+id)
}

// givenBy is the reason of a rejection for an id that another source has given.
func givenBy(place string) string {
	return "the id is of " + place + ", with other content: rename one of them, or import one with another --provider"
}

// described returns an item with the document that the rules make of it.
func described(item formats.Item) Document {
	d := Document{Kind: item.Kind, ID: item.ID, Provider: item.Provider, Format: item.Format, Delete: item.Delete}
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

func (i *importer) send(ctx context.Context, r io.Reader, src Source) error {
	query := url.Values{"answer_all": {"true"}}
	if i.start != 0 {
		query.Set("import_start", strconv.FormatUint(i.start, 10))
	}
	for name, value := range map[string]string{"source": src.address(), "provider": i.options.Provider, "format": i.options.Format} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if i.options.TakeOver {
		query.Set("take_over", "true")
	}
	answer, _, err := i.server.Send(ctx, http.MethodPost, "/v1/tools:batch", query, "application/octet-stream", r)
	if refused := (*client.Problem)(nil); errors.As(err, &refused) && slices.Contains(refusesDocument, refused.Status) {
		i.lost = true
		i.summary.failed(src.Name, 0, "", refused.Text())
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
		if s.Unshown > 0 {
			i.lost = true // their ids, which sync would keep, are not known
			i.summary.Rejected += s.Unshown
		}
		if s.Error != "" {
			return fmt.Errorf("%s; documents without an answer may or may not be accepted; import again", s.Error)
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

func (i *importer) count(src Source, o ingest.Outcome) {
	i.sent(o.Kind, o.ID, o.Provider, o.State == ingest.Rejected)
	if o.TakenFrom != "" {
		i.summary.TakenOver++
	}
	key := i.key(o.Kind, o.ID)
	before, twice := i.given[key]
	if len(i.sources) > 1 && (o.State == ingest.Accepted || o.State == ingest.Unchanged && !twice) {
		i.given[key] = given{source: i.at}
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
		reason := whyRejected(o)
		if twice && o.Reason == ingest.ReasonGiven {
			reason = givenBy(i.sources[before.source].title())
		}
		i.summary.failed(src.Name, o.Line, o.ID, reason)
	}
}

// sent notes the id and the provider of a document for sync.
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
		i.term.Notef("nothing is deleted: documents without an id were rejected, and they may be tools that are still there\n")
		return nil
	}
	if len(i.providers) == 0 {
		return nil
	}
	request := map[string]any{"providers": slices.Sorted(maps.Keys(i.providers)), "keep": append([]string{}, i.keep...)}
	if i.options.DryRun {
		request["dry_run"] = true
	} else {
		request["upto"] = i.start
	}
	var answer struct {
		Deleted []change `json:"deleted"`
		Missing []string `json:"missing"`
	}
	if err := i.server.Post(ctx, "/v1/tools:sync", request, &answer); err != nil {
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

const (
	waitChunk = 1000 // changes asked about in one call
	waitPause = 50 * time.Millisecond
)

// wait polls the outcome of the changes, oldest first, until each is indexed or dead.
func (i *importer) wait(ctx context.Context) error {
	indexed, dead := 0, 0
	pending := i.newest()
	bar := i.term.Progress("indexing", int64(len(pending)), false)
	defer bar.Close()
	for len(pending) > 0 {
		part := pending[:min(waitChunk, len(pending))]
		var answer struct{ States []struct{ State string } }
		if err := i.server.Post(ctx, "/v1/tools:states", map[string]any{"changes": part}, &answer); err != nil {
			return err
		}
		var left []change
		for n, s := range answer.States {
			switch s.State {
			case "indexed":
				indexed++
			case "dead_lettered":
				dead++
			default:
				left = append(left, part[n])
			}
		}
		bar.Add(len(part) - len(left))
		pending = append(left, pending[len(part):]...)
		if len(left) == 0 {
			continue
		}
		select {
		case <-time.After(waitPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	i.summary.Indexed, i.summary.DeadLettered = &indexed, &dead
	return nil
}

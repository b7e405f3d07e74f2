package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// A batch is accepted and answered in chunks of about this size.
const (
	chunkItems = 256
	chunkBytes = 4 << 20
)

type batchInput struct {
	Provider  string `query:"provider" doc:"Id of the owner, whatever the documents say."`
	TakeOver  bool   `query:"take_over" doc:"Accept tools of another provider or of a source, and change their owner."`
	Sync      bool   `query:"sync" doc:"Delete the tools of the batch's providers that it does not hold. Nothing is deleted if an item without an id was rejected."`
	Format    string `query:"format" doc:"Format of the document; recognised by default."`
	Import    uint64 `query:"import_start" doc:"Summary's start of the first batch of the import: other content under an id that a batch sent since is rejected (given_before)."`
	Source    string `query:"source" doc:"File name or address of the body, to recognise the format and the provider."`
	AnswerAll bool   `query:"answer_all" doc:"Answer every tool that is not rejected, for clients that read while they send."`
}

func (h *handlers) batchRoute() {
	lines := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	huma.Register(h.api, huma.Operation{
		OperationID: "batch-tools", Security: identity.Needs(identity.Writer), Method: http.MethodPost, Path: "/v1/tools:batch", Tags: []string{"tools"},
		Summary: "Add, replace and delete many tools and providers",
		Description: "The body is JSON Lines, one document or envelope a line, or one whole document: an OpenAPI document, a tools/list answer, an array. " +
			`An envelope is {"id", "provider"?, "kind"?, "op"?, "source_version"?, "document"}. ` +
			"The answer is JSON Lines: one object for each tool, in order, with the line it stood on, its state and, if it was rejected, the reason; only the first 1000 rejected tools have an object, and without answer_all the first 1000 others; " +
			`then one for each tool that sync deleted; at last {"summary": {...}} with the counts. ` +
			"Answers come while the body is still being read. An answer without a summary was cut off; a summary with an error says that what has no answer is to be sent again.",
		RequestBody: rawBody(), Errors: writeErrors(),
		Responses: map[string]*huma.Response{"200": {
			Description: "One answer a line", Content: map[string]*huma.MediaType{"application/x-ndjson": lines},
		}},
	}, h.batch)
}

func (h *handlers) batch(ctx context.Context, in *batchInput) (*huma.StreamResponse, error) {
	t := identity.From(ctx).Tenant
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		w := &lineWriter{hc: hc, early: earlyAnswers, all: in.AnswerAll}
		w.out = bufio.NewWriter(w)
		w.lines = json.NewEncoder(w.out)
		if rw, ok := hc.BodyWriter().(http.ResponseWriter); ok {
			w.controller = http.NewResponseController(rw)
		}
		c := &chunks{s: h.s, ctx: hc.Context(), batch: h.s.newBatch(t, in.Provider, in.Sync, Options{TakeOver: in.TakeOver, ImportStart: in.Import}), out: w}
		c.batch.answerAll = in.AnswerAll
		if err := c.finish(c.read(hc, in)); err != nil {
			writeProblem(h.api, hc, err)
		}
	}}, nil
}

// chunks accepts the items of a body in chunks, and answers each chunk once it is
// durable.
type chunks struct {
	s     *Service
	ctx   context.Context
	batch *batch
	out   *lineWriter

	items    []formats.Item // of the chunk, not accepted yet
	at       []int          // where their outcomes go in outcomes
	outcomes []Outcome      // of the chunk
	size     int            // bytes of items' documents
	taken    int            // items of the whole body
	problems int            // of the whole body

	kept   *inflight.Reader // of the body
	pieces bool             // the body is read in pieces, and nothing is kept of one after its items
}

// read accepts the whole body. The error says why it ended early.
func (c *chunks) read(hc huma.Context, in *batchInput) error {
	r, err := open(hc, c.s.cfg.MaxBody, c.s.cfg.MaxStream)
	if err != nil {
		return err
	}
	limits := c.s.limits(c.s.cfg.MaxBody)
	limits.Stream = c.s.cfg.MaxStream
	options := formats.Options{
		Source: cmp.Or(in.Source, sourceOf(hc.Header("Content-Type"))), Provider: in.Provider, Format: in.Format, Limits: limits,
	}
	options.Passed = func() { c.pieces = true }
	options.Keep = func(r io.Reader) io.Reader {
		c.kept = inflight.Decoded(c.ctx, r)
		return c.kept
	}
	for item, problem := range formats.Read(r, options) {
		if problem != nil && problem.Cause != nil {
			// The body was cut off: what came of it is accepted.
			if c.taken > 0 {
				if err := c.flush(); err != nil {
					return err
				}
			}
			if problem.Reason != formats.Unreadable {
				return rejected(*problem).problem()
			}
			return bodyProblem(problem.Cause)
		}
		if err := c.add(item, problem); err != nil {
			return err
		}
	}
	source := strings.TrimSuffix(options.Source, ".gz")
	isLines := strings.HasSuffix(source, ".ndjson") || strings.HasSuffix(source, ".jsonl")
	if c.taken == 0 && c.problems == 1 && !c.out.started && (!isLines || c.outcomes[0].Line == 0) {
		return c.outcomes[0].problem() // the body holds one wrong thing; a single bad line is a line
	}
	return c.flush()
}

func (c *chunks) add(item formats.Item, bad *formats.Problem) error {
	if bad != nil {
		c.problems++
		c.outcomes = append(c.outcomes, c.batch.Reject([]formats.Problem{*bad})...)
	} else {
		c.taken++
		c.size += len(item.Raw)
		c.items, c.at = append(c.items, item), append(c.at, len(c.outcomes))
		c.outcomes = append(c.outcomes, Outcome{})
	}
	if c.taken+c.problems > c.s.cfg.MaxItems {
		return problem(http.StatusRequestEntityTooLarge, "", fmt.Sprintf("more than %d tools in one request", c.s.cfg.MaxItems))
	}
	if len(c.outcomes) < chunkItems && c.size < chunkBytes {
		return nil
	}
	return c.flush()
}

// flush accepts and answers the chunk.
func (c *chunks) flush() error {
	if len(c.items) > 0 {
		accepted, err := c.batch.Accept(c.ctx, c.items)
		if err != nil {
			return c.s.failed(err)
		}
		for i, o := range accepted {
			c.outcomes[c.at[i]] = o
		}
	}
	c.batch.full = c.out.held.Len() >= heldAnswers
	c.out.write(c.batch.shown(c.outcomes))
	c.items, c.at, c.outcomes, c.size = nil, nil, nil, 0
	if c.pieces {
		c.kept.Dropped()
	}
	return nil
}

// finish deletes the missing tools of a sync and answers with the summary. An
// error, of the body or of that, is returned if nothing was answered yet.
func (c *chunks) finish(err error) error {
	c.out.release()
	if err == nil {
		deleted, failure := c.batch.Finish(c.ctx)
		if failure != nil {
			err = c.s.failed(failure)
		}
		c.out.write(deleted)
	}
	if err != nil && !c.out.started {
		return err
	}
	summary := &c.batch.Summary
	if err != nil {
		summary.Error, summary.RetryAfter = describe(err)
	}
	c.out.start()
	_ = c.out.lines.Encode(map[string]*Summary{"summary": summary})
	c.out.flush()
	return nil
}

// Answers that a client does not read while it sends wait in the kernel, which takes little more
// than earlyAnswers bytes. Further answers are held until the body is read.
const (
	earlyAnswers = 64 << 10
	heldAnswers  = 1 << 20
)

// lineWriter writes JSON Lines. The status goes out with the first line.
type lineWriter struct {
	hc         huma.Context
	controller *http.ResponseController // nil: the connection is not one of net/http
	out        *bufio.Writer            // into the lineWriter itself
	lines      *json.Encoder
	started    bool

	all   bool // nothing is held: the client reads while it sends
	early int  // bytes until answers are held
	held  bytes.Buffer
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	if w.early <= 0 && !w.all {
		return w.held.Write(p)
	}
	w.early -= len(p)
	return w.hc.BodyWriter().Write(p)
}

// release writes the held answers. Further ones are not held.
func (w *lineWriter) release() {
	w.all = true
	_, _ = w.held.WriteTo(w) // as in write
}

// write answers with outcomes. Errors are left to the request's context, which
// ends when the client has gone.
func (w *lineWriter) write(outcomes []Outcome) {
	if len(outcomes) == 0 {
		return
	}
	w.start()
	for i := range outcomes {
		_ = w.lines.Encode(&outcomes[i])
	}
	w.flush()
}

// start lets answers go out while the body is still coming in.
func (w *lineWriter) start() {
	if w.started {
		return
	}
	w.started = true
	if w.controller != nil {
		_ = w.controller.EnableFullDuplex() // HTTP/2 has it anyway, and says so with an error
	}
	w.hc.SetHeader("Content-Type", "application/x-ndjson")
	w.hc.SetStatus(http.StatusOK)
}

func (w *lineWriter) flush() {
	_ = w.out.Flush()
	if w.controller != nil {
		_ = w.controller.Flush()
	}
}

// maxSync is the largest list of tools to keep, in bytes.
const maxSync = 256 << 20

type (
	syncInput   struct{ Body syncRequest }
	syncRequest struct {
		Providers []string `json:"providers" minItems:"1" doc:"Owners of the tools."`
		Keep      []string `json:"keep" doc:"Ids of all the tools that the providers have."`
		UpTo      uint64   `json:"upto,omitempty" doc:"Revision above which nothing is deleted: the start in the summary of the first batch. Required, except with dry_run."`
		DryRun    bool     `json:"dry_run,omitempty" doc:"Delete nothing; answer what would be deleted."`
	}
	syncOutput struct{ Body syncAnswer }
	syncAnswer struct {
		Deleted []Outcome `json:"deleted" doc:"The deletes that were accepted, by id."`
		Missing []string  `json:"missing,omitempty" doc:"With dry_run: ids of the tools to delete."`
	}
)

func (h *handlers) syncRoute() {
	huma.Register(h.api, huma.Operation{
		OperationID: "sync-tools", Security: identity.Needs(identity.Writer), Method: http.MethodPost, Path: "/v1/tools:sync", Tags: []string{"tools"},
		Summary: "Delete the tools that providers no longer have",
		Description: "For providers whose tools came in several batches; one batch that holds them all can say sync itself. " +
			"Deletes the providers' tools that are not in the list and were there before the first batch.",
		MaxBodyBytes: maxSync, Errors: writeErrors(),
		SkipValidateBody: true, // the list is long
	}, h.syncTools)
}

func (h *handlers) syncTools(ctx context.Context, in *syncInput) (*syncOutput, error) {
	if in.Body.DryRun {
		audit.Annotate(ctx, audit.Details{DryRun: true, ReadOnly: true})
	}
	switch {
	case len(in.Body.Providers) == 0:
		return nil, problem(http.StatusUnprocessableEntity, "/body/providers", "the providers are missing")
	case in.Body.UpTo == 0 && !in.Body.DryRun:
		return nil, problem(http.StatusUnprocessableEntity, "/body/upto", "the revision is missing")
	case in.Body.UpTo == 0:
		in.Body.UpTo = events.MaxRevision
	}
	providers := make([]string, len(in.Body.Providers))
	for i, p := range in.Body.Providers {
		providers[i] = norm.NFC.String(p)
	}
	keep := make(map[string]bool, len(in.Body.Keep))
	for _, id := range in.Body.Keep {
		keep[norm.NFC.String(id)] = true
	}
	t := identity.From(ctx).Tenant
	missing, err := h.s.missing(ctx, t, providers, keep, in.Body.UpTo)
	if err != nil {
		return nil, h.s.failed(err)
	}
	answer := syncAnswer{Deleted: []Outcome{}}
	if in.Body.DryRun {
		answer.Missing = missing
		return &syncOutput{answer}, nil
	}
	deleted, err := h.s.Remove(ctx, t, missing, Options{UpTo: in.Body.UpTo})
	if err != nil {
		return nil, h.s.failed(err)
	}
	answer.Deleted = append(answer.Deleted, deleted...)
	return &syncOutput{answer}, nil
}

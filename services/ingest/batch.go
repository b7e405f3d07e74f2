package ingest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// A batch is accepted and answered in chunks of about this size.
const (
	chunkItems = 256
	chunkBytes = 4 << 20
)

type batchInput struct {
	Provider string `query:"provider" doc:"Id of the provider that owns the tools, whatever the documents say."`
	TakeOver bool   `query:"take_over" doc:"Tools of another provider may change hands. Without it they are refused."`
	Sync     bool   `query:"sync" doc:"Delete the tools that the providers of this batch had before and that it does not hold. Nothing is deleted if an item without an id was rejected."`
	Format   string `query:"format" doc:"Format of the document; recognised when absent."`
	Source   string `query:"source" doc:"File name or address of the body: its ending helps to recognise the format, its base name may be the provider."`
}

func (h *handlers) batchRoute() {
	lines := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	huma.Register(h.api, huma.Operation{
		OperationID: "batch-tools", Security: identity.Needs(identity.Writer), Method: http.MethodPost, Path: "/v1/tools:batch", Tags: []string{"tools"},
		Summary: "Add, replace and delete many tools and providers",
		Description: "The body is JSON Lines, one document or envelope a line, or one whole document: an OpenAPI document, a tools/list answer, an array. " +
			`An envelope is {"id", "provider"?, "kind"?, "op"?, "source_version"?, "document"}. ` +
			"The answer is JSON Lines: one object for each tool, in order, with the line it stood on, its state and, if it was rejected, the reason; " +
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
		c := &chunks{s: h.s, ctx: hc.Context(), batch: h.s.newBatch(t, in.Provider, in.Sync, Options{TakeOver: in.TakeOver}), out: newLineWriter(hc)}
		if err := c.finish(c.read(hc, in)); err != nil {
			writeProblem(h.api, hc, err)
		}
	}}, nil
}

// linesSource makes package formats read lines, whatever the first line looks
// like. It has no base name, so it names no provider.
const linesSource = "-.ndjson"

// sourceOf returns a file name that stands for a content type.
func sourceOf(contentType string) string {
	media, _, _ := mime.ParseMediaType(contentType) // checkType has refused malformed ones
	switch {
	case strings.HasSuffix(media, "ndjson"), strings.HasSuffix(media, "jsonl"), strings.Contains(media, "json-lines"), strings.HasSuffix(media, "jsonlines"):
		return linesSource
	case strings.HasSuffix(media, "yaml"):
		return "-.yaml"
	case strings.HasSuffix(media, "json"):
		return "-.json"
	case media == "text/markdown":
		return "-.md"
	case media == "text/plain":
		return "-.txt"
	}
	return ""
}

func isLines(source string) bool {
	source = strings.TrimSuffix(source, ".gz")
	return strings.HasSuffix(source, ".ndjson") || strings.HasSuffix(source, ".jsonl")
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
	for item, problem := range formats.Read(r, options) {
		if problem != nil && problem.Cause != nil {
			return c.cutOff(problem)
		}
		if err := c.add(item, problem); err != nil {
			return err
		}
	}
	if c.taken == 0 && c.problems == 1 && !c.out.begun && (!isLines(options.Source) || c.outcomes[0].Line == 0) {
		return c.outcomes[0].problem() // the body holds one wrong thing; a single bad line is a line
	}
	return c.flush()
}

// cutOff accepts what came of a body that was cut off, and returns the problem.
func (c *chunks) cutOff(cause *formats.Problem) error {
	if c.taken > 0 {
		if err := c.flush(); err != nil {
			return err
		}
	}
	if cause.Reason != formats.Unreadable {
		return rejected(*cause).problem()
	}
	return bodyProblem(cause.Cause)
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
	c.out.write(c.outcomes)
	c.items, c.at, c.outcomes, c.size = nil, nil, nil, 0
	return nil
}

// finish deletes what a sync is to delete and answers with the summary. An
// error, of the body or of that, is returned if nothing was answered yet.
func (c *chunks) finish(err error) error {
	if err == nil {
		deleted, failure := c.batch.Finish(c.ctx)
		if failure != nil {
			err = c.s.failed(failure)
		}
		c.out.write(deleted)
	}
	if err != nil && !c.out.begun {
		return err
	}
	summary := &c.batch.Summary
	if err != nil {
		summary.Error, summary.RetryAfter = describe(err)
	}
	c.out.summary(summary)
	return nil
}

// lineWriter writes JSON Lines. The status goes out with the first line.
type lineWriter struct {
	hc         huma.Context
	controller *http.ResponseController // nil: the connection is not one of net/http
	out        *bufio.Writer
	lines      *json.Encoder
	begun      bool
}

func newLineWriter(hc huma.Context) *lineWriter {
	w := &lineWriter{hc: hc, out: bufio.NewWriter(hc.BodyWriter())}
	w.lines = json.NewEncoder(w.out)
	if rw, ok := hc.BodyWriter().(http.ResponseWriter); ok {
		w.controller = http.NewResponseController(rw)
	}
	return w
}

// write answers with outcomes. Errors are left to the request's context, which
// ends when the client has gone.
func (w *lineWriter) write(outcomes []Outcome) {
	if len(outcomes) == 0 {
		return
	}
	w.begin()
	for i := range outcomes {
		_ = w.lines.Encode(&outcomes[i])
	}
	w.flush()
}

func (w *lineWriter) summary(s *Summary) {
	w.begin()
	_ = w.lines.Encode(map[string]*Summary{"summary": s})
	w.flush()
}

// begin lets answers go out while the body is still coming in.
func (w *lineWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
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

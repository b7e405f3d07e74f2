package ingest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Pieces in which a batch is accepted and answered.
const (
	pieceItems = 256
	pieceBytes = 4 << 20
)

type batchInput struct {
	Agent  string `query:"agent" doc:"Id of the agent that owns the tools, whatever the input says."`
	Sync   bool   `query:"sync" doc:"Delete the tools that the agents of this batch had before and that it does not hold. Nothing is deleted if an item without an id was rejected."`
	Format string `query:"format" doc:"Format of the documents; recognised when absent."`
	Source string `query:"source" doc:"Name of the file or address that the body comes from: its ending helps to recognise the format, and a document of several tools that names no agent gets one from its base name."`
}

func (h *handlers) batchRoute() {
	lines := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	huma.Register(h.api, huma.Operation{
		OperationID: "batch-tools", Method: http.MethodPost, Path: "/v1/tools:batch", Tags: []string{"tools"},
		Summary: "Add, replace and delete many tools and agents",
		Description: "The body is JSON Lines, one document or envelope a line, or one whole document: an OpenAPI document, a tools/list answer, an array. " +
			`An envelope is {"id", "agent"?, "kind"?, "op"?, "source_version"?, "document"}. ` +
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
	t := tenant.From(ctx)
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		p := &pieces{s: h.s, ctx: hc.Context(), batch: h.s.NewBatch(t, in.Agent, in.Sync), answers: newAnswers(hc)}
		if err := p.finish(p.read(hc, in)); err != nil {
			writeProblem(h.api, hc, err)
		}
	}}, nil
}

// linesSource makes package formats read lines, whatever the first one looks
// like. It is the name of a file without a base name, so it names no agent.
const linesSource = "-.ndjson"

// sourceOf says by a file's name what the content type says.
func sourceOf(contentType string) string {
	media, _, _ := mime.ParseMediaType(contentType) // was checked
	switch {
	case strings.HasSuffix(media, "ndjson"), strings.HasSuffix(media, "jsonl"), strings.Contains(media, "json-lines"), strings.HasSuffix(media, "jsonlines"):
		return linesSource
	case strings.HasSuffix(media, "yaml"):
		return "-.yaml"
	case strings.HasSuffix(media, "json"):
		return "-.json"
	}
	return ""
}

func isLines(source string) bool {
	source = strings.TrimSuffix(source, ".gz")
	return strings.HasSuffix(source, ".ndjson") || strings.HasSuffix(source, ".jsonl")
}

// pieces accepts what a body holds in pieces, and answers each piece once it
// is durable.
type pieces struct {
	s       *Service
	ctx     context.Context
	batch   *Batch
	answers *answers

	items    []formats.Item // of the piece, not accepted yet
	at       []int          // where their outcomes go in outcomes
	outcomes []Outcome      // of the piece
	size     int            // bytes of items' documents
	taken    int            // items of the whole body
	problems int            // likewise
}

// read accepts the whole body. The error says why it ended early.
func (p *pieces) read(hc huma.Context, in *batchInput) error {
	r, err := open(hc, p.s.cfg.MaxBody, p.s.cfg.MaxStream)
	if err != nil {
		return err
	}
	limits := p.s.limits(p.s.cfg.MaxBody)
	limits.Stream = p.s.cfg.MaxStream
	options := formats.Options{
		Source: cmp.Or(in.Source, sourceOf(hc.Header("Content-Type"))), Agent: in.Agent, Format: in.Format, Limits: limits,
	}
	for item, problem := range formats.Read(r, options) {
		if problem != nil && problem.Cause != nil {
			return p.cutOff(problem)
		}
		if err := p.add(item, problem); err != nil {
			return err
		}
	}
	if alone := p.alone(isLines(options.Source)); alone != nil {
		return alone.problem()
	}
	return p.flush()
}

// cutOff accepts what came of a body that ended before its end, and answers
// for that.
func (p *pieces) cutOff(cause *formats.Problem) error {
	if p.taken > 0 {
		if err := p.flush(); err != nil {
			return err
		}
	}
	if status := statusOf(cause.Reason); cause.Reason != formats.Unreadable {
		return problem(status, "", rejected(*cause).detail())
	}
	return bodyProblem(cause.Cause)
}

// alone returns the outcome of a body that holds nothing but one thing that is
// wrong: the request is answered by it. A single bad line is a line.
func (p *pieces) alone(lines bool) *Outcome {
	if p.taken > 0 || p.problems != 1 || p.answers.begun {
		return nil
	}
	if lines && p.outcomes[0].Line > 0 {
		return nil
	}
	return &p.outcomes[0]
}

func (p *pieces) add(item formats.Item, bad *formats.Problem) error {
	if bad != nil {
		p.problems++
		p.outcomes = append(p.outcomes, p.batch.Reject([]formats.Problem{*bad})...)
	} else {
		p.taken++
		p.size += len(item.Raw)
		p.items, p.at = append(p.items, item), append(p.at, len(p.outcomes))
		p.outcomes = append(p.outcomes, Outcome{})
	}
	if p.taken+p.problems > p.s.cfg.MaxItems {
		return problem(http.StatusRequestEntityTooLarge, "", fmt.Sprintf("more than %d tools in one request", p.s.cfg.MaxItems))
	}
	if len(p.outcomes) < pieceItems && p.size < pieceBytes {
		return nil
	}
	return p.flush()
}

// flush accepts and answers the piece.
func (p *pieces) flush() error {
	if len(p.items) > 0 {
		accepted, err := p.batch.Accept(p.ctx, p.items)
		if err != nil {
			return p.s.failed(err)
		}
		for i, o := range accepted {
			p.outcomes[p.at[i]] = o
		}
	}
	p.answers.write(p.outcomes)
	p.items, p.at, p.outcomes, p.size = nil, nil, nil, 0
	return nil
}

// finish deletes what a sync is to delete and answers with the summary. An
// error, of the body or of that, is returned if nothing was answered yet.
func (p *pieces) finish(err error) error {
	if err == nil {
		deleted, failure := p.batch.Finish(p.ctx)
		if failure != nil {
			err = p.s.failed(failure)
		}
		p.answers.write(deleted)
	}
	if err != nil && !p.answers.begun {
		return err
	}
	summary := &p.batch.Summary
	if err != nil {
		summary.Error, summary.RetryAfter = describe(err)
		p.answers.drain(p.s.cfg.MaxBody)
	}
	p.answers.summary(summary)
	return nil
}

// answers writes JSON Lines. The status is sent with the first of them.
type answers struct {
	hc         huma.Context
	controller *http.ResponseController // nil where the connection is none of net/http
	out        *bufio.Writer
	lines      *json.Encoder
	begun      bool
}

func newAnswers(hc huma.Context) *answers {
	a := &answers{hc: hc, out: bufio.NewWriter(hc.BodyWriter())}
	a.lines = json.NewEncoder(a.out)
	if w, ok := hc.BodyWriter().(http.ResponseWriter); ok {
		a.controller = http.NewResponseController(w)
	}
	return a
}

// write answers with outcomes. That the client has gone is noticed by the
// request's context.
func (a *answers) write(outcomes []Outcome) {
	if len(outcomes) == 0 {
		return
	}
	a.begin()
	for i := range outcomes {
		_ = a.lines.Encode(&outcomes[i])
	}
	a.flush()
}

func (a *answers) summary(s *Summary) {
	a.begin()
	_ = a.lines.Encode(map[string]*Summary{"summary": s})
	a.flush()
}

// begin lets answers go out while the body is still coming in.
func (a *answers) begin() {
	if a.begun {
		return
	}
	a.begun = true
	if a.controller != nil {
		_ = a.controller.EnableFullDuplex() // HTTP/2 has it anyway, and says so with an error
	}
	a.hc.SetHeader("Content-Type", "application/x-ndjson")
	a.hc.SetStatus(http.StatusOK)
}

// drain reads what is left of the body. net/http does so too before it reuses
// a connection, but not safely once answers have gone out before the end of
// the body (it panics with "invalid concurrent Body.Read call").
func (a *answers) drain(limit int64) {
	_, _ = io.CopyN(io.Discard, &patient{a.hc}, limit)
}

func (a *answers) flush() {
	_ = a.out.Flush()
	if a.controller != nil {
		_ = a.controller.Flush()
	}
}

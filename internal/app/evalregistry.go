package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/rewriting"
	"github.com/toolstream/toolstream/services/standardizer/answer"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// evalTimeout bounds a search and the embedding of its texts: in an evaluation
// an answer that comes late counts too.
const evalTimeout = time.Hour

// embedChunk is how many documents are embedded between two reports.
const embedChunk = 64

// registry is the tools and agents of a data set, indexed and searched as they
// are when the product serves.
type registry struct {
	dir     string
	closers []io.Closer // of the model
	encoder *embedder.Encoder
	index   *flat.Index
	query   *query.Service
	size    int // entities

	suppliers map[string][]index.Supplier // by tool
	rewriter  *rewriting.Rewriter         // nil: queries are not rewritten here
	fallbacks fallbacks
}

// withRegistry runs fn on the registry of the set and removes it again.
func (e *evaluator) withRegistry(ctx context.Context, fn func(*registry) error) error {
	r := &registry{}
	err := r.open(ctx, e)
	if err == nil {
		err = e.fill(ctx, r)
	}
	if err == nil {
		err = fn(r)
	}
	return errors.Join(err, r.close())
}

func (r *registry) open(ctx context.Context, e *evaluator) (err error) {
	if r.dir, err = os.MkdirTemp("", "toolstream-eval-"); err != nil {
		return err
	}
	model, closer, err := NewModel(ctx, e.Config)
	if err != nil {
		return err
	}
	r.closers, e.Settings.Model = append(r.closers, closer), model.Name()
	if e.Cache != "" {
		cached, err := openCachedModel(e.Cache, model)
		if err != nil {
			return err
		}
		r.closers, model = append(r.closers, cached), cached
	}
	log, metrics := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	if r.encoder, err = embedder.NewEncoder(embedder.Config{Timeout: evalTimeout}, model, metrics); err != nil {
		return err
	}
	if r.index, err = flat.Open(ctx, flat.Config{Path: r.dir, Logger: log, Registerer: metrics}); err != nil {
		return err
	}
	r.query, err = query.New(query.Config{Timeout: evalTimeout, EmbedTimeout: evalTimeout}, query.Deps{
		Index: r.index, Catalogue: r.index, Embedder: r.encoder, Publisher: unrecorded{}, Logger: log, Registerer: metrics,
	})
	if err != nil || e.Settings.Queries != evaluation.LLM {
		return err
	}
	e.Settings.LLM = e.deps.LLM.Name()
	r.rewriter, err = rewriting.New(rewriting.Config{Late: evalTimeout, Parallel: len(e.queries)}, rewriting.Deps{
		Index: r.index, Model: e.deps.LLM, Registerer: metrics,
	})
	return err
}

func (r *registry) close() error {
	var errs []error
	if r.index != nil {
		errs = append(errs, r.index.Close())
	}
	for _, c := range r.closers {
		errs = append(errs, c.Close())
	}
	if r.dir != "" {
		errs = append(errs, os.RemoveAll(r.dir))
	}
	return errors.Join(errs...)
}

// unrecorded is the bus of an evaluation, which leaves no impressions.
type unrecorded struct{}

// Publish refuses every message: nobody is to learn from an evaluation.
func (unrecorded) Publish(context.Context, ...stream.Message) error {
	return errors.New("an evaluation is not recorded")
}

// fill takes the set's documents the way of the pipeline: ingest's formats,
// the standardizer's rules, the embedder, the index. All are applied at once,
// which makes the lexical scores exact.
func (e *evaluator) fill(ctx context.Context, r *registry) error {
	changes, err := e.changes()
	if err != nil {
		return err
	}
	if changes, err = e.standardize(ctx, changes); err != nil {
		return err
	}
	if e.Settings.Documents == evaluation.Recorded {
		if err := e.overwrite(changes); err != nil {
			return err
		}
	}
	for i, chunk := range chunks(changes) {
		docs := make([]*schema.Document, len(chunk))
		for j := range chunk {
			docs[j] = chunk[j].Document
		}
		vectors, err := r.encoder.Documents(ctx, docs)
		if err != nil {
			return err
		}
		for j := range chunk {
			chunk[j].Vectors = vectors[j]
		}
		e.progress("embedding", min((i+1)*embedChunk, len(changes)), len(changes))
	}
	r.size = len(changes)
	if err := r.index.Apply(ctx, changes, map[int]uint64{0: uint64(len(changes))}); err != nil {
		return err
	}
	return r.supply(ctx, changes)
}

// supply looks up the suppliers of all tools, once for all queries.
func (r *registry) supply(ctx context.Context, changes []events.Change) error {
	ids := make([]string, len(changes))
	for i := range changes {
		ids[i] = changes[i].ID
	}
	lists, err := r.index.Suppliers(ctx, tenant.Default, ids)
	r.suppliers = make(map[string][]index.Supplier, len(ids))
	for i, list := range lists {
		r.suppliers[ids[i]] = list
	}
	return err
}

func (r *registry) suppliersOf(tool string) []index.Supplier { return r.suppliers[tool] }

func chunks(changes []events.Change) [][]events.Change {
	return slices.Collect(slices.Chunk(changes, embedChunk))
}

// changes reads the set's tools, and its agents where agents are ranked, as
// ingest reads what is imported.
func (e *evaluator) changes() ([]events.Change, error) {
	a := acceptor{}
	for tool, err := range e.set.Tools() {
		if err != nil {
			return nil, err
		}
		a.accept(tool, formats.Options{})
	}
	if e.Settings.Rank != evaluation.Tools {
		agents, err := e.set.Agents()
		if err != nil {
			return nil, err
		}
		for _, agent := range agents {
			a.accept(agent, formats.Options{ID: agent.ID, Kind: schema.KindAgent})
		}
	}
	if len(a.refused) > 0 {
		e.note("%d documents can not be read and are not in the index, the first for: %s", len(a.refused), a.refused[0])
	}
	if len(a.changes) == 0 {
		return nil, errors.New("no tool can be read")
	}
	return a.changes, nil
}

// acceptor makes changes of documents.
type acceptor struct {
	changes []events.Change
	refused []string
}

func (a *acceptor) accept(document any, opt formats.Options) {
	raw, err := json.Marshal(document)
	if err != nil {
		a.refused = append(a.refused, err.Error())
		return
	}
	opt.Lines = true
	items, problems := formats.Parse(raw, opt)
	for i := range problems {
		a.refused = append(a.refused, problems[i].Error())
	}
	for _, item := range items {
		kind := item.Kind
		if kind == "" {
			kind = schema.KindTool
		}
		a.changes = append(a.changes, events.Change{
			Schema: events.ChangeSchema, Op: events.OpUpsert,
			Ref:     schema.Ref{Tenant: tenant.Default, Kind: kind, ID: item.ID},
			Version: schema.Version{Revision: uint64(len(a.changes) + 1)},
			Agent:   item.Agent, Format: item.Format, Hash: item.Hash, Raw: item.Raw,
		})
	}
}

// standardize makes the documents, and drops the changes of which none can be
// made.
func (e *evaluator) standardize(ctx context.Context, changes []events.Change) ([]events.Change, error) {
	documents, err := e.documents()
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(changes))
	atOnce := iter.Iterator[events.Change]{MaxGoroutines: max(runtime.GOMAXPROCS(0), e.Config.LLM.Parallel)}
	atOnce.ForEachIdx(changes, func(i int, c *events.Change) { errs[i] = documents.Standardize(ctx, c) })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var kept []events.Change
	var dropped []error
	for i, c := range changes {
		if errs[i] != nil {
			dropped = append(dropped, fmt.Errorf("%s: %w", c.ID, errs[i]))
			continue
		}
		kept = append(kept, c)
		if c.Kind == schema.KindTool {
			e.tools++
		}
	}
	if len(dropped) > 0 {
		e.note("%d documents can not be standardized and are not in the index, the first: %v", len(dropped), dropped[0])
	}
	return kept, e.filled(kept)
}

// overwrite puts the recorded answers beside what the rules made, as the
// standardizer does with those of a language model.
func (e *evaluator) overwrite(changes []events.Change) error {
	recorded, err := e.set.Standardized()
	if err != nil {
		return err
	}
	answers := make(map[string]*answer.Answer, len(recorded))
	for i := range recorded {
		answers[recorded[i].ID] = answer.Recorded(&recorded[i])
	}
	missing := 0
	for i := range changes {
		c := &changes[i]
		if c.Kind != schema.KindTool {
			continue
		}
		if a := answers[c.ID]; a != nil {
			merged := answer.Merge(*c.Document, rules.StatedBy(c.Format, c.Raw, c.Document), a)
			c.Document = &merged.Document
		} else {
			missing++
		}
	}
	if missing > 0 {
		e.note("%d tools have no recorded fields and keep those that the rules made", missing)
	}
	return nil
}

package evaluator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/boilerplate"
	"github.com/toolstream/toolstream/internal/embedding"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/lab/recorded"
	"github.com/toolstream/toolstream/internal/lab/vectorcache"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/standardizer"
	"github.com/toolstream/toolstream/services/standardizer/answer"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// evalTimeout bounds a search and the embedding of its texts: in an evaluation
// an answer that comes late counts too.
const evalTimeout = time.Hour

// embedChunk is how many documents are embedded between two reports.
const embedChunk = 64

// withIndex runs fn on the index of the set and removes it again.
func (e *evaluator) withIndex(ctx context.Context, fn func() error) error {
	err := e.openIndex(ctx)
	if err == nil {
		err = e.fill(ctx)
	}
	if err == nil {
		err = fn()
	}
	errs := []error{err}
	for _, c := range slices.Backward(e.closers) {
		errs = append(errs, c.Close())
	}
	if e.dir != "" {
		errs = append(errs, os.RemoveAll(e.dir))
	}
	return errors.Join(errs...)
}

// openIndex opens an empty index that is searched as in the product.
func (e *evaluator) openIndex(ctx context.Context) (err error) {
	if e.dir, err = os.MkdirTemp("", "toolstream-eval-"); err != nil {
		return err
	}
	model, closer, err := embedding.Open(ctx, e.Config)
	if err != nil {
		return err
	}
	e.closers, e.Settings.Model = append(e.closers, closer), model.Name()
	if e.Cache != "" {
		cached, err := vectorcache.Open(e.Cache, model)
		if err != nil {
			return err
		}
		e.closers, model = append(e.closers, cached), cached
	}
	log, metrics := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	if e.encoder, err = embedder.NewEncoder(embedder.Config{Timeout: evalTimeout}, model, metrics); err != nil {
		return err
	}
	scorer, closer, err := embedding.OpenScorer(ctx, e.Config)
	if err != nil {
		return err
	}
	e.closers, e.scorer = append(e.closers, closer), scorer
	e.index, e.query, err = e.openSearch(ctx, e.dir, log, metrics)
	if e.index != nil {
		e.closers = append(e.closers, e.index)
	}
	if err != nil || e.Settings.Queries != evaluation.LLM {
		return err
	}
	return e.openRewriter(log, metrics)
}

// openSearch opens an index in a folder, and what searches it.
func (e *evaluator) openSearch(ctx context.Context, dir string, log *slog.Logger, metrics prometheus.Registerer) (*flat.Index, *query.Service, error) {
	ix, err := flat.Open(ctx, flat.Config{Path: dir, Logger: log, Registerer: metrics})
	if err != nil {
		return nil, nil, err
	}
	held, err := query.ParseHoldBack(e.Config.Query.HoldBack, standardizer.Flags())
	if err != nil {
		return ix, nil, err
	}
	names, err := embedding.OpenNames()
	if err != nil {
		return ix, nil, err
	}
	q, err := query.New(query.Config{Timeout: evalTimeout, EmbedTimeout: evalTimeout, ScoreBudget: evalTimeout, HoldBack: held}, query.Deps{
		Snapshot:  query.Snapshot{Index: ix, Catalogue: ix, Embedder: e.encoder},
		Publisher: unrecorded{}, Scorer: e.scorer, Names: names, Logger: log, Registerer: metrics,
	})
	return ix, q, err
}

// unrecorded is the bus of an evaluation, which leaves no impressions.
type unrecorded struct{}

// Publish refuses every message: nothing learns from an evaluation.
func (unrecorded) Publish(context.Context, ...stream.Message) error {
	return errors.New("an evaluation is not recorded")
}

// fill takes the set's documents the way of the pipeline: ingest's formats,
// the standardizer's rules, the embedder, the index. All are applied at once,
// which makes the lexical scores exact.
func (e *evaluator) fill(ctx context.Context) error {
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
	if err := e.embed(ctx, changes); err != nil {
		return err
	}
	e.size, e.indexed = len(changes), changes
	if err := e.index.Apply(ctx, changes, map[int]uint64{0: uint64(len(changes))}); err != nil {
		return err
	}
	ids := make([]string, len(changes))
	for i := range changes {
		ids[i] = changes[i].ID
	}
	lists, err := e.index.Suppliers(ctx, identity.DefaultTenant, ids)
	e.suppliers = make(map[string][]index.Supplier, len(ids))
	for i, list := range lists {
		e.suppliers[ids[i]] = list
	}
	return err
}

// embed gives changes their vectors.
func (e *evaluator) embed(ctx context.Context, changes []events.Change) error {
	done := 0
	for chunk := range slices.Chunk(changes, embedChunk) {
		docs := make([]*schema.Document, len(chunk))
		for j := range chunk {
			docs[j] = chunk[j].Document
		}
		vectors, err := e.encoder.Documents(ctx, docs)
		if err != nil {
			return err
		}
		for j := range chunk {
			chunk[j].Vectors = vectors[j]
		}
		done += len(chunk)
		e.progress("embedding", done, len(changes))
	}
	return nil
}

// suppliersOf returns the suppliers of a tool: looked up once for all queries.
func (e *evaluator) suppliersOf(tool string) []index.Supplier { return e.suppliers[tool] }

// changes reads the set's tools, and its providers where providers are ranked, as
// ingest reads what is imported.
func (e *evaluator) changes() ([]events.Change, error) {
	var r reader
	for tool, err := range e.set.Tools() {
		if err != nil {
			return nil, err
		}
		r.accept(tool, formats.Options{})
	}
	if e.Settings.Rank != evaluation.Tools {
		providers, err := e.set.Providers()
		if err != nil {
			return nil, err
		}
		for _, provider := range providers {
			r.accept(provider, formats.Options{ID: provider.ID, Kind: schema.KindProvider})
		}
	}
	if len(r.refused) > 0 {
		e.note("%d documents cannot be read and are not in the index, the first for: %v", len(r.refused), r.refused[0])
	}
	if len(r.changes) == 0 {
		return nil, errors.New("no tool can be read")
	}
	mark(r.changes)
	return r.changes, nil
}

// mark has the changes of tools say what is boilerplate in them, as ingest does in the end.
func mark(changes []events.Change) {
	count := boilerplate.New()
	said := make([][]string, len(changes))
	for i := range changes {
		if c := &changes[i]; c.Kind == schema.KindTool {
			said[i] = boilerplate.Sentences(c.Raw)
			count.Add(boilerplate.ToolOf(c, said[i]))
		}
	}
	for i := range changes {
		changes[i].Boilerplate = count.Of(changes[i].Tenant, said[i])
	}
}

// reader reads documents as ingest reads what is imported.
type reader struct {
	first   uint64 // revision before those of the changes
	changes []events.Change
	refused []error
}

func (r *reader) accept(document any, opt formats.Options) {
	raw, err := json.Marshal(document)
	if err != nil {
		r.refused = append(r.refused, err)
		return
	}
	opt.Lines = true
	items, problems := formats.Parse(raw, opt)
	for i := range problems {
		r.refused = append(r.refused, &problems[i])
	}
	for _, item := range items {
		r.changes = append(r.changes, events.Change{
			Schema: events.ChangeSchema, Op: events.OpUpsert,
			Ref:      schema.Ref{Tenant: identity.DefaultTenant, Kind: cmp.Or(item.Kind, schema.KindTool), ID: item.ID},
			Version:  schema.Version{Revision: r.first + uint64(len(r.changes)+1)},
			Provider: item.Provider, Format: item.Format, Hash: item.Hash, Raw: item.Raw,
		})
	}
}

// standardize makes the documents, and drops the changes that none can be
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
		e.note("%d documents cannot be standardized and are not in the index, the first: %v", len(dropped), dropped[0])
	}
	return kept, e.filled(kept)
}

// overwrite puts the recorded answers beside what the rules made, as the
// standardizer does with those of a language model.
func (e *evaluator) overwrite(changes []events.Change) error {
	standardized, err := e.set.Standardized()
	if err != nil {
		return err
	}
	answers := make(map[string]*answer.Answer, len(standardized))
	for i := range standardized {
		answers[standardized[i].ID] = recorded.Answer(&standardized[i])
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

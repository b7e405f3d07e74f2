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

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/lab/vectorcache"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/internal/server"
	"github.com/toolstream/toolstream/internal/server/embedding"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/rewriting"
	"github.com/toolstream/toolstream/services/query/search"
	"github.com/toolstream/toolstream/services/standardizer"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// evalTimeout bounds a search and the embedding of its texts: in an evaluation
// an answer that comes late counts too.
const evalTimeout = time.Hour

// embedChunk is the number of documents embedded between two reports.
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
	if err != nil || e.Settings.Queries != LLM {
		return err
	}
	e.Settings.LLM = e.LLM.Name()
	vectors, err := static.Builtin()
	if err != nil {
		return err
	}
	e.rewriter.Rewriter, err = rewriting.New(rewriting.Config{Parallel: len(e.queries), Keep: forever}, rewriting.Deps{
		Index: e.index, Model: e.LLM, Vectors: vectors, Answers: answerFiles{e.Cache, "queries-" + e.set.Name + "-" + e.Settings.Documents},
		Logger: log, Registerer: metrics,
	})
	return err
}

// openSearch opens an index in a folder, and a query service on it.
func (e *evaluator) openSearch(ctx context.Context, dir string, log *slog.Logger, metrics prometheus.Registerer) (*flat.Index, *query.Service, error) {
	ix, err := flat.Open(ctx, flat.Config{Path: dir, Logger: log, Registerer: metrics})
	if err != nil {
		return nil, nil, err
	}
	held, err := search.ParseHoldBack(e.Config.Query.HoldBack, standardizer.Flags())
	if err != nil {
		return ix, nil, err
	}
	names, err := embedding.OpenNames()
	if err != nil {
		return ix, nil, err
	}
	q, err := query.New(search.Config{Timeout: evalTimeout, EmbedTimeout: evalTimeout, ScoreBudget: evalTimeout, HoldBack: held}, query.Deps{
		Snapshot:  search.Snapshot{Index: ix, Catalogue: ix, Embedder: e.encoder},
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

// fill takes the set's documents the way of the pipeline: ingest's formats, the standardizer's
// rules, the embedder, the index. It applies all at once, which makes the lexical scores
// exact.
func (e *evaluator) fill(ctx context.Context) error {
	documents, err := readSet(e.set, e.Settings.Rank != Tools)
	if err != nil {
		return err
	}
	if n := len(documents.refused); n > 0 {
		e.note("%d documents cannot be read and are not in the index, the first for: %v", n, documents.refused[0])
	}
	changes, err := e.standardize(ctx, documents.changes)
	if err != nil {
		return err
	}
	if e.Settings.Documents == Recorded {
		missing, err := overwrite(changes, e.set)
		if err != nil {
			return err
		}
		if missing > 0 {
			e.note("%d tools have no recorded fields and keep those that the rules made", missing)
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
	e.suppliers = make(ranking.Suppliers, len(ids))
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

// readSet reads the tools of a set, and its providers if they are ranked, as ingest reads an
// import.
func readSet(set *dataset.Set, providers bool) (r reader, err error) {
	for tool, err := range set.Tools() {
		if err != nil {
			return r, err
		}
		r.accept(tool, formats.Options{})
	}
	if providers {
		all, err := set.Providers()
		if err != nil {
			return r, err
		}
		for _, provider := range all {
			r.accept(provider, formats.Options{ID: provider.ID, Kind: schema.KindProvider})
		}
	}
	if len(r.changes) == 0 {
		return r, errors.New("no tool can be read")
	}
	return r, nil
}

// reader reads documents as ingest reads an import.
type reader struct {
	first   uint64 // revision before the first change
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

// standardize makes the documents, by rules or for --documents llm with the language model, and
// drops the changes that it fails for.
func (e *evaluator) standardize(ctx context.Context, changes []events.Change) ([]events.Change, error) {
	var cfg standardizer.Config
	deps := standardizer.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}
	if e.Settings.Documents == LLM {
		cfg = server.StandardizerConfig(e.Config.LLM)
		deps.Model, deps.Answers, deps.Now = e.LLM, answerFiles{dir: e.Cache}, time.Now
		var err error
		if deps.Vectors, err = static.Builtin(); err != nil {
			return nil, err
		}
		e.Settings.LLM = e.LLM.Name()
	}
	documents, err := standardizer.NewDocuments(cfg, deps)
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
	if e.Settings.Documents != LLM {
		return kept, nil
	}
	note, err := modelNote(kept)
	if note != "" {
		e.notes = append(e.notes, note)
	}
	return kept, err
}

// overwrite merges the recorded answers into the fields that the rules made, as the
// standardizer does with answers of a language model. It counts the tools without an answer.
func overwrite(changes []events.Change, set *dataset.Set) (missing int, err error) {
	standardized, err := set.Standardized()
	if err != nil {
		return 0, err
	}
	answers := make(map[string]*prompts.Answer, len(standardized))
	for i := range standardized {
		s := &standardized[i]
		a := &prompts.Answer{Description: s.Description, Response: s.Response, Examples: s.Examples, Parameters: []prompts.Parameter{}}
		for j := range s.Parameters {
			p := &s.Parameters[j]
			a.Parameters = append(a.Parameters, prompts.Parameter{
				Name: p.Name, Type: p.Type, Required: &p.Required, Description: p.Description, Example: string(p.Example),
			})
		}
		answers[s.ID] = a
	}
	for i := range changes {
		c := &changes[i]
		if c.Kind != schema.KindTool {
			continue
		}
		if a := answers[c.ID]; a != nil {
			merged := prompts.Merge(*c.Document, rules.StatedBy(c.Format, c.Raw, c.Document), a)
			c.Document = &merged.Document
		} else {
			missing++
		}
	}
	return missing, nil
}

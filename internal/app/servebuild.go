package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/adapter/trainerstore"
	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/kept"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
)

// build makes the services in the opposite order of the flow, so that consumers
// start first.
func (s *Served) build(ctx context.Context) error {
	if s.serves(EmbedderService, QueryService, TrainerService) {
		if err := s.openModel(ctx); err != nil {
			return err
		}
	}
	builders := map[string]func(context.Context) error{
		IngestService: s.buildIngest, StandardizerService: s.buildStandardizer, EmbedderService: s.buildEmbedder,
		QueryService: s.buildQuery, TrainerService: s.buildTrainer,
	}
	for _, name := range slices.Backward(Services()) {
		if !s.serves(name) {
			continue
		}
		if err := builders[name](ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (s *Served) openModel(ctx context.Context) error {
	model, closer, err := NewModel(ctx, s.cfg)
	if err != nil {
		return err
	}
	s.opened = append(s.opened, closer)
	s.model, s.embedding = model, model.Name()
	return nil
}

func (s *Served) buildIngest(context.Context) error {
	service, err := s.newIngest(s.bus, true)
	if err != nil {
		return err
	}
	dead, err := s.deadLetters()
	if err != nil {
		return err
	}
	s.parts = append(s.parts, part{"ingest", service.Run})
	s.ready = append(s.ready, func() error {
		if !service.Ready() {
			return errors.New("still reading what was accepted before")
		}
		return nil
	})
	s.routes[IngestService] = func(api huma.API) {
		ingest.Routes(api, service)
		deadletter.Routes(api, dead)
	}
	return nil
}

func (s *Served) buildStandardizer(context.Context) error {
	service, err := s.newStandardizer(s.bus)
	if err != nil {
		return err
	}
	s.parts = append(s.parts, part{"standardizer", service.Run})
	return nil
}

func (s *Served) buildEmbedder(context.Context) error {
	service, err := s.newEmbedder(s.bus, s.model, nil)
	if err != nil {
		return err
	}
	answers, err := s.answerEmbeds(s.conn, service)
	if err != nil {
		return err
	}
	if s.vectors != nil {
		if err := s.buildProposals(); err != nil {
			return err
		}
	}
	s.parts = append(s.parts, part{"embedder", service.Run}, answers)
	return nil
}

// buildProposals lets Weaviate have what is embedded.
func (s *Served) buildProposals() error {
	model := weaviate.Model{Name: s.embedding, Dimensions: s.model.Dimensions()}
	p, err := newProposals(func(ctx context.Context) (*weaviate.Index, error) {
		return weaviate.OpenIndex(ctx, s.vectors, model, weaviate.Deps{Logger: s.log, Registerer: s.metrics})
	}, stream.Deps{Groups: s.bus, Ends: s.bus, Publisher: s.bus, Logger: s.log, Registerer: s.metrics})
	if err != nil {
		return err
	}
	s.opened = append(s.opened, closing(p.close))
	s.parts = append(s.parts, part{"proposals", p.run})
	return nil
}

// searched is what searches ask for candidates: the replica's own index, or
// Weaviate in front of it.
func (s *Served) searched(replica *flat.Index) (query.Index, error) {
	if s.cfg.Vectors() == config.VectorsWeaviate {
		return weaviate.NewSearch(s.vectors, replica, s.log)
	}
	return replica, nil
}

// buildQuery makes a replica: an index of its own in the data folder, which
// follows the bus.
func (s *Served) buildQuery(ctx context.Context) error {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	index, err := flat.Open(ctx, flat.Config{
		Path: filepath.Join(s.cfg.Data, IndexFolder), Logger: s.log, Registerer: s.metrics,
	})
	if err != nil {
		return err
	}
	s.opened = append(s.opened, index)
	if built, _ := index.Model(); built != "" && built != s.embedding {
		return fmt.Errorf("the index in %s holds vectors of the model %s, this program embeds with %s: name another data folder, which is filled from the bus", s.cfg.Data, built, s.embedding)
	}
	writer, err := s.newWriter(s.bus, index)
	if err != nil {
		return err
	}
	asked, err := embedder.NewEncoder(embedder.Config{}, s.model, s.metrics)
	if err != nil {
		return err
	}
	searched, err := s.searched(index)
	if err != nil {
		return err
	}
	weights, err := s.keptWeights()
	if err != nil {
		return err
	}
	dead, err := s.deadLetters()
	if err != nil {
		return err
	}
	service, err := s.newQuery(s.bus, searched, index, asked, dead, watch{weights, weights.Stale})
	if err != nil {
		return err
	}
	answers, err := s.answerSearches(s.conn, service)
	if err != nil {
		return err
	}
	r := &replica{bus: s.bus, index: index}
	s.parts = append(s.parts, part{"index writer", writer.Run}, part{"query", service.Run}, answers, part{"replica", r.run})
	s.ready = append(s.ready, r.ready)
	status := &reporter{base: &s.base, bus: s.bus, index: index, dead: dead, weights: service.WeightsVersion, ready: s.whyNotReady}
	s.routes[QueryService] = func(api huma.API) {
		query.Routes(api, service)
		status.routes(api)
	}
	return nil
}

// deadLetters returns the one box of the process.
func (s *Served) deadLetters() (_ *deadletter.Box, err error) {
	if s.dead == nil {
		if s.dead, err = s.newDeadLetters(s.bus); err != nil {
			return nil, err
		}
		s.parts = append(s.parts, part{"dead letters", s.dead.Run})
	}
	return s.dead, nil
}

// keptWeights remembers weights and usage in the data folder: a replica that
// starts while NATS is away goes on with what it knew.
func (s *Served) keptWeights() (*kept.Keeper, error) {
	store, err := trainerstore.Open(filepath.Join(s.cfg.Data, keptFile), s.log)
	if err != nil {
		return nil, err
	}
	s.opened = append(s.opened, store)
	return kept.New(kept.Deps{Source: s.weights, Store: store, Logger: s.log, Good: query.Usable})
}

func (s *Served) buildTrainer(context.Context) error {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	state, err := trainerstore.Open(filepath.Join(s.cfg.Data, trainerFile), s.log)
	if err != nil {
		return err
	}
	s.opened = append(s.opened, state)
	service, err := s.newTrainer(s.bus, state, s.weights)
	if err != nil {
		return err
	}
	s.parts = append(s.parts, part{"trainer", service.Run})
	s.routes[TrainerService] = func(api huma.API) { trainer.Routes(api, service) }
	return nil
}

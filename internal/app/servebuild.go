package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/adapter/trainerstore"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/generations"
	"github.com/toolstream/toolstream/internal/kept"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
)

// build makes the services in the opposite order of the flow, so that consumers
// start first.
func (s *Served) build(ctx context.Context) error {
	if s.serves(StandardizerService, QueryService) {
		if err := s.openLLM(s.serves(StandardizerService) && s.serves(QueryService)); err != nil {
			return err
		}
	}
	if s.conn != nil {
		if err := s.answerRoll(); err != nil {
			return err
		}
	}
	if s.serves(EmbedderService, QueryService, TrainerService) {
		if err := s.openFleet(ctx); err != nil {
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

// openFleet learns the plan, which may be away with NATS, and opens what was
// searched last. The trainer alone needs no model.
func (s *Served) openFleet(ctx context.Context) (err error) {
	if s.fleet, err = newFleet(&s.base, s.bus, s.weights, planFile); err != nil {
		return err
	}
	s.opened = append(s.opened, closing(s.fleet.close))
	s.fleet.embeds, s.fleet.searches, s.fleet.vectors = s.serves(EmbedderService), s.serves(QueryService), s.vectors
	s.fleet.learnPlan(ctx)
	s.parts = append(s.parts, part{"plan", s.fleet.planner.Run})
	if !s.serves(EmbedderService, QueryService) {
		return nil
	}
	if err := s.fleet.open(ctx); err != nil {
		return err
	}
	s.parts = append(s.parts, part{"generations", s.fleet.run})
	return s.callRoll()
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
	service, err := s.newStandardizer(s.bus, s.conn)
	if err != nil {
		return err
	}
	s.parts = append(s.parts, part{"standardizer", service.Run})
	return s.newRefresher(s.bus, service, s.weights)
}

func (s *Served) buildEmbedder(context.Context) error {
	answers, err := s.answerEmbeds(s.conn, s.fleet)
	if err != nil {
		return err
	}
	s.parts = append(s.parts, answers)
	s.ready = append(s.ready, (&probe{name: "the embedding model", check: s.fleet.modelAnswers}).ready)
	return nil
}

// buildQuery makes a replica: indexes of its own in the data folder, which follow
// the bus.
func (s *Served) buildQuery(context.Context) error {
	weights, err := s.keptWeights()
	if err != nil {
		return err
	}
	dead, err := s.deadLetters()
	if err != nil {
		return err
	}
	live := s.fleet.Live()
	s.fleet.dead = dead
	rewriter, err := s.newRewriter(s.fleet)
	if err != nil {
		return err
	}
	service, err := s.newQuery(s.bus, live.view, s.fleet, rewriter, watch{weights, weights.Stale})
	if err != nil {
		return err
	}
	s.fleet.query = service
	answers, err := s.answerSearches(s.conn, service)
	if err != nil {
		return err
	}
	waiting, err := s.newBacklog(s.bus, s.fleet)
	if err != nil {
		return err
	}
	r := &replica{bus: s.bus, fleet: s.fleet, first: live}
	s.parts = append(s.parts, part{"query", service.Run}, answers, part{"replica", r.run}, waiting)
	s.ready = append(s.ready, r.ready)
	status := &reporter{
		base: &s.base, mode: ModeDistributed, bus: s.bus, fleet: s.fleet, dead: dead, query: service, ready: s.whyNotReady,
		needs: s.needs(), others: s.others, topics: s.topics,
	}
	s.routes[QueryService] = func(api huma.API) {
		query.Routes(api, service)
		status.routes(api)
		generations.Routes(api, s.fleet)
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

func (s *Served) buildTrainer(ctx context.Context) error {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	state, err := trainerstore.Open(filepath.Join(s.cfg.Data, trainerFile), s.log)
	if err != nil {
		return err
	}
	s.opened = append(s.opened, state)
	model, err := s.fleet.searchedModel(ctx)
	if err != nil {
		return err
	}
	turn, err := s.trainerLease()
	if err != nil {
		return err
	}
	service, err := s.newTrainer(s.bus, model, state, guarded{s.weights, turn}, turn.Check)
	if err != nil {
		return err
	}
	work := func(ctx context.Context) error { return turn.Run(ctx, service.Run) }
	s.parts = append(s.parts, part{"trainer", work}, s.fleet.serving(service))
	s.ready = append(s.ready, turn.StandsBy)
	s.routes[TrainerService] = func(api huma.API) { trainer.Routes(api, service) }
	return nil
}

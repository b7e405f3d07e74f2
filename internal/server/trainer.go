package server

import (
	"context"
	"path/filepath"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/bus/localkv"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/services/trainer"
)

// trainerFile has the state of the trainer.
const trainerFile = "trainer"

// TrainerConfig returns the settings as the trainer takes them.
func TrainerConfig(c config.Trainer, model string) trainer.Config {
	return trainer.Config{
		Model: model, Publish: c.Publish, MinPairs: c.MinPairs, HalfLife: c.HalfLife,
	}
}

func openTrainer(ctx context.Context, p *Process) (none, error) {
	bus, indexes, turn := theBus.get(p), theIndexes.get(p), theTrainerTurn.get(p)
	state, err := localkv.Open(filepath.Join(p.cfg.Data, trainerFile), p.log)
	if err != nil {
		return none{}, err
	}
	p.closes(state)
	model, err := indexes.SearchedModel(ctx)
	if err != nil {
		return none{}, err
	}
	service, err := trainer.New(TrainerConfig(p.cfg.Trainer, model), trainer.Deps{
		Follower: bus, Publisher: bus, State: state, Store: theStore.get(p), Elected: turn.Check,
		Now: time.Now, Logger: p.log, Registerer: p.metrics, Traces: theTraces.get(p).Provider(),
	})
	if err != nil {
		return none{}, err
	}
	p.starts("trainer", func(ctx context.Context) error { return turn.Run(ctx, service.Run) })
	p.starts("searched model", func(ctx context.Context) error { return indexes.Tell(ctx, service) })
	p.erases(func(_ context.Context, f tenants.Fence) error { return service.Erase(f.Tenant, f.Erasing) })
	p.routes[TrainerService] = trainerRoutes(service)
	return none{}, nil
}

func trainerRoutes(s *trainer.Service) func(huma.API) {
	return func(api huma.API) { trainer.Routes(api, s) }
}

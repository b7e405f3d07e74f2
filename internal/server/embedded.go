package server

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/bus/jetstream"
	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/server/status"
)

// busFolder is the folder of the bus in the data folder.
const busFolder = "bus"

// openJetStream opens the bus, which locks the data folder for this process.
func openJetStream(ctx context.Context, p *Process) (*jetstream.Server, error) {
	js, err := jetstream.Open(ctx, jetstream.Config{
		Dir: filepath.Join(p.cfg.Data, busFolder), AcceptLoss: p.cfg.Bus.AcceptLoss,
	}, p.log)
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, js.Close)
	p.starts("bus", js.Run)
	return js, nil
}

func embeddedConn(_ context.Context, p *Process) (*nats.Conn, error) {
	return theJetStream.get(p).Conn(), nil
}

func openEmbeddedStore(ctx context.Context, p *Process) (*natsadapter.KV, error) {
	store, err := openStore(ctx, p)
	if err != nil {
		return nil, err
	}
	return store, store.Open(ctx)
}

func fenceJetStream(_ context.Context, p *Process) (*tenants.Bus, error) {
	return tenants.NewBus(theJetStream.get(p), theFences.get(p)), nil
}

// storedWeights are weights and usage as the store has them: it is in this process.
func storedWeights(_ context.Context, p *Process) (weights, error) {
	return weights{Watcher: theStore.get(p)}, nil
}

// alone is the turn of a process that has no peers.
func alone(context.Context, *Process) (turn, error) { return permanentTurn{}, nil }

// verifyAfter delays the verification of the bus, which reads all records, so that it does not
// slow down the start and the first searches.
const verifyAfter = 30 * time.Second

// describeEmbedded describes the deployment for the status. It reads the whole bus once after the
// start, because a damaged record is otherwise found only when it is needed.
func describeEmbedded(_ context.Context, p *Process) (status.Deployment, error) {
	js := theJetStream.get(p)
	var damage atomic.Pointer[error]
	p.starts("bus verification", func(ctx context.Context) error {
		select {
		case <-time.After(verifyAfter):
		case <-ctx.Done():
			return nil
		}
		switch err := js.Verify(ctx); {
		case err == nil || ctx.Err() != nil:
		case stream.Reason(err) == stream.ReasonLost:
			p.log.Error("the bus is damaged", "error", err)
			damage.Store(&err)
		default:
			p.log.Warn("the bus was not verified whole", "error", err)
		}
		<-ctx.Done()
		return nil
	})
	return status.Deployment{
		Mode: status.ModeEmbedded,
		BusDamage: func() error {
			if err := damage.Load(); err != nil {
				return *err
			}
			return nil
		},
		Processes: func(context.Context, string) []status.Process { return nil },
		Topics:    func() []string { return nil },
	}, nil
}

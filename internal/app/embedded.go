package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/adapter/jetstream"
	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/rungroup"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/schema"
)

// busFolder is where the bus lies in the data folder.
const busFolder = "bus"

// Embedded is the whole pipeline in one process.
type Embedded struct {
	process
	js     *jetstream.Server
	damage atomic.Pointer[error]
}

// OpenEmbedded opens everything that lies in the data folder and begins to
// listen; Run starts the work. After an error nothing is left open.
func OpenEmbedded(ctx context.Context, cfg config.Config, log *slog.Logger, version string) (_ *Embedded, err error) {
	e := &Embedded{process: newProcess(cfg, Services(), log, version, naming{prefix: "toolstream", replicas: 1})}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	if err := cfg.Guarded(); err != nil {
		return nil, config.Wrong{Err: err}
	}
	if err := e.openCredentials(); err != nil {
		return nil, err
	}
	if err := e.openTLS(); err != nil {
		return nil, config.Wrong{Err: err}
	}
	if err := e.openTraces(ctx, "embedded"); err != nil {
		return nil, err
	}
	if err := e.openBus(ctx); err != nil {
		return nil, err
	}
	if err := e.open(ctx, nil, "embedded"); err != nil {
		return nil, err
	}
	e.reporter.BusDamage = e.busDamage
	return e, nil
}

// openBus opens the bus, which locks the data folder for this process.
func (e *Embedded) openBus(ctx context.Context) (err error) {
	if err := os.MkdirAll(e.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	e.js, err = jetstream.Open(ctx, jetstream.Config{
		Dir: filepath.Join(e.cfg.Data, busFolder), AcceptLoss: e.cfg.Bus.AcceptLoss,
		Clients: jetstream.Clients{
			Listen: e.cfg.NATS.Listen, Caller: e.credentials.Caller, TLS: e.serverTLS(),
			Subjects: []string{e.nats.subject(searchSubject), e.nats.subject(embedSubject)},
		},
	}, e.log)
	if err != nil {
		return err
	}
	e.closes(e.js.Close)
	e.scrub, e.room = e.scrubBuckets, e.js.Room
	if err := e.fence(e.js); err != nil {
		return err
	}
	e.conn = e.js.Conn()
	if e.cfg.NATS.Listen != "" {
		e.asking = e.js.Caller
	}
	e.background = append(e.background, rungroup.New("bus", e.js.Run), rungroup.New("bus verification", e.verifyBus))
	if e.store, err = natsadapter.NewKV(e.nats.bucket(weightsBucket), e.conn); err != nil {
		return err
	}
	return e.store.Open(ctx)
}

// verifyAfter is how long after the start the bus is verified, so that reading all of it
// takes nothing from a start and the searches behind it.
const verifyAfter = 30 * time.Second

// verifyBus reads the whole bus once after the start: a damaged record is otherwise found
// only when it is needed.
func (e *Embedded) verifyBus(ctx context.Context) error {
	select {
	case <-time.After(verifyAfter):
	case <-ctx.Done():
		return nil
	}
	switch err := e.js.Verify(ctx); {
	case err == nil || ctx.Err() != nil:
	case stream.Reason(err) == stream.ReasonLost:
		e.log.Error("the bus is damaged", "error", err)
		e.damage.Store(&err)
	default:
		e.log.Warn("the bus was not verified whole", "error", err)
	}
	<-ctx.Done()
	return nil
}

// busDamage is what verifyBus has found, nil if nothing so far.
func (e *Embedded) busDamage() error {
	if err := e.damage.Load(); err != nil {
		return *err
	}
	return nil
}

// NATS is where other processes ask over NATS, "" where it is closed to them.
func (e *Embedded) NATS() string { return e.js.Addr() }

// Stats counts what the index holds of the default tenant.
func (e *Embedded) Stats() flat.Stats { return e.indexes.Live().Index.Stats()[identity.DefaultTenant] }

// Lag returns how many records all stages together have yet to read.
func (e *Embedded) Lag(ctx context.Context) (uint64, error) { return e.searched().Lag(ctx, e.bus) }

// SearchAs answers a request of a caller, without HTTP in between.
func (e *Embedded) SearchAs(ctx context.Context, c identity.Caller, req schema.SearchRequest) (schema.SearchResponse, error) {
	return e.query.Search(ctx, c, req)
}

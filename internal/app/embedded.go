package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/adapter/jetstream"
	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/trainerstore"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/generations"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/standardizer"
	"github.com/toolstream/toolstream/services/trainer"
)

// IndexFolder is where the index lies in the data folder.
const IndexFolder = "index"

// What else lies in the data folder.
const (
	busFolder   = "bus"
	trainerFile = "trainer.db"
)

const (
	weightsBucket  = "weights"
	weightsHistory = 64
)

// own is the naming on the bus of the process itself, which no other deployment
// shares.
var own = naming{prefix: "toolstream", replicas: 1}

// Lines are taken piece by piece, so what bounds a request is patience and not
// memory.
const (
	maxStream = 8 << 30
	maxItems  = 10_000_000
)

// Embedded is the whole pipeline in one process.
type Embedded struct {
	base

	bus     *jetstream.Server
	learned *trainerstore.Store
	fleet   *fleet

	ingest       *ingest.Service
	standardizer *standardizer.Service
	query        *query.Service
	trainer      *trainer.Service
	dead         *deadletter.Box
}

// OpenEmbedded opens everything that lies in the data folder and begins to
// listen; Run starts the work. After an error nothing is left open.
func OpenEmbedded(ctx context.Context, cfg config.Config, log *slog.Logger, version string) (_ *Embedded, err error) {
	e := &Embedded{base: newBase(cfg, log, version, own)}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close(context.WithoutCancel(ctx)))
		}
	}()
	if err := e.openTraces(ctx, "embedded"); err != nil {
		return nil, err
	}
	if err := e.openStores(ctx); err != nil {
		return nil, err
	}
	if err := e.buildServices(ctx); err != nil {
		return nil, err
	}
	if err := e.buildHTTP(); err != nil {
		return nil, err
	}
	if e.sending, err = e.sender(ctx, e.fleet, "embedded"); err != nil {
		return nil, err
	}
	return e, e.listen(ctx)
}

// openStores opens the bus first: it locks the data folder for this process.
func (e *Embedded) openStores(ctx context.Context) (err error) {
	if err := os.MkdirAll(e.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	e.bus, err = jetstream.Open(ctx, jetstream.Config{
		Dir: filepath.Join(e.cfg.Data, busFolder), Listen: e.cfg.NATS.Listen, Token: e.cfg.NATS.Token,
		AcceptLoss: e.cfg.Bus.AcceptLoss,
	}, e.log)
	if err != nil {
		return err
	}
	e.learned, err = trainerstore.Open(filepath.Join(e.cfg.Data, trainerFile), e.log)
	return err
}

// verifySource reads the whole bus before an index is built from it: a record
// that can not be read would be left out without a word.
func (e *Embedded) verifySource(ctx context.Context) error {
	if len(e.fleet.Live().index.Positions()) > 0 {
		return nil
	}
	err := e.bus.Verify(ctx)
	if err != nil && e.cfg.Bus.AcceptLoss {
		e.log.Error("the index is built from what is left of the bus, and the loss was accepted", "error", err)
		return nil
	}
	return err
}

func (e *Embedded) buildServices(ctx context.Context) error {
	kept := e.nats.bucket(weightsBucket, weightsHistory)
	err := e.bus.CheckBucket(ctx, kept.Bucket)
	if stream.Reason(err) == stream.ReasonLost {
		bus := filepath.Join(e.cfg.Data, busFolder)
		return fmt.Errorf("the bus in %s lost weights: restore the folder from a backup, or remove KV_%s below it, and weights are learned on from what the trainer knows: %w", bus, kept.Bucket, err)
	}
	if err != nil {
		return err
	}
	weights, err := natsadapter.NewKV(kept, e.bus.Conn())
	if err == nil {
		err = weights.Open(ctx)
	}
	if err != nil {
		return err
	}
	if err := e.openFleet(ctx, weights); err != nil {
		return err
	}
	if err := e.openLLM(true); err != nil {
		return err
	}
	var errs [5]error
	e.ingest, errs[0] = e.newIngest(e.bus, false)
	e.standardizer, errs[1] = e.newStandardizer(e.bus, e.bus.Conn())
	e.dead, errs[2] = e.newDeadLetters(e.bus)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	live := e.fleet.Live()
	e.fleet.dead = e.dead
	rewriter, err := e.newRewriter(e.fleet)
	if err != nil {
		return err
	}
	e.query, errs[3] = e.newQuery(e.bus, live.view, e.fleet, rewriter, watch{Watcher: weights})
	e.trainer, errs[4] = e.newTrainer(e.bus, live.Model, e.learned, weights, nil)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	e.fleet.query = e.query
	return e.newRefresher(e.bus, e.standardizer, weights)
}

// openFleet opens what was searched last. The plan lies on the process's own bus.
func (e *Embedded) openFleet(ctx context.Context, plans generations.Store) (err error) {
	if e.fleet, err = newFleet(&e.base, e.bus, plans, ""); err != nil {
		return err
	}
	e.fleet.embeds, e.fleet.searches = true, true
	if err := e.fleet.planner.Read(ctx); err != nil {
		return err
	}
	if err := e.fleet.open(ctx); err != nil {
		return err
	}
	return e.verifySource(ctx)
}

func (e *Embedded) buildHTTP() error {
	api, mux := newAPI(e.version)
	ingest.Routes(api, e.ingest)
	query.Routes(api, e.query)
	trainer.Routes(api, e.trainer)
	deadletter.Routes(api, e.dead)
	e.reporter().routes(api)
	generations.Routes(api, e.fleet)
	if err := addHealth(mux, e.ready, e.metrics, e.fleet); err != nil {
		return err
	}
	return e.protect(mux)
}

// NATS is where other processes reach the bus, "" where it is closed to them.
func (e *Embedded) NATS() string { return e.bus.Addr() }

// ready says why the process can not yet take changes, or nil. It answers
// searches from the start.
func (e *Embedded) ready() error {
	if !e.ingest.Ready() {
		return errors.New("still reading what was accepted before")
	}
	return nil
}

// Run works until ctx ends, drains, and closes everything.
func (e *Embedded) Run(ctx context.Context) error {
	parts, err := e.parts()
	if err == nil {
		err = runParts(ctx, parts)
		e.listener = nil // the server has closed it
	}
	return errors.Join(err, e.close(context.WithoutCancel(ctx)))
}

// parts lists what runs, consumers before producers.
func (e *Embedded) parts() ([]part, error) {
	waiting, err := e.newBacklog(e.bus, e.fleet)
	if err != nil {
		return nil, err
	}
	parts := slices.Concat(e.sending, []part{{"bus", e.bus.Run}, waiting})
	parts = append(parts, e.asking...)
	parts = append(parts, []part{
		{"plan", e.fleet.planner.Run},
		{"generations", e.fleet.run},
		{"standardizer", e.standardizer.Run},
		{"trainer", e.trainer.Run},
		e.fleet.serving(e.trainer),
		{"dead letters", e.dead.Run},
		{"query", e.query.Run},
		{"ingest", e.ingest.Run},
	}...)
	if e.cfg.NATS.Listen != "" {
		replies, err := e.requestReply()
		if err != nil {
			return nil, err
		}
		parts = append(parts, replies...)
	}
	return append(parts, e.web()), nil
}

// requestReply answers other processes on the bus.
func (e *Embedded) requestReply() ([]part, error) {
	search, err := e.answerSearches(e.bus.Conn(), e.query)
	if err != nil {
		return nil, err
	}
	embed, err := e.answerEmbeds(e.bus.Conn(), e.fleet)
	return []part{search, embed}, err
}

// closeTimeout bounds the closing of the stores.
const closeTimeout = 30 * time.Second

// close closes what is open, in the opposite order of opening.
func (e *Embedded) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	var errs []error
	if e.listener != nil {
		errs = append(errs, e.listener.Close())
	}
	if e.learned != nil {
		errs = append(errs, e.learned.Close())
	}
	if e.fleet != nil {
		errs = append(errs, e.fleet.close())
	}
	if e.bus != nil {
		errs = append(errs, e.bus.Close(ctx))
	}
	e.traces.Close(ctx)
	return errors.Join(errs...)
}

package server

import (
	"context"
	"strings"
	"time"

	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/changes/revisions"
	"github.com/toolstream/toolstream/internal/changes/tenants"
)

// weightsBucket is the bucket of weights, usage, fences, grants and the plan of index versions.
const weightsBucket = "weights"

func openStore(_ context.Context, p *Process) (*natsadapter.KV, error) {
	return natsadapter.NewKV(p.bucket(weightsBucket), theConn.get(p))
}

// openRevisions opens the bucket of the last changes of each tool and provider.
func openRevisions(_ context.Context, p *Process) (*natsadapter.History, error) {
	return natsadapter.NewHistory(natsadapter.HistoryConfig{
		KVConfig: p.bucket(revisions.Name), Values: revisions.Kept, Bytes: revisions.Bytes,
	}, theConn.get(p))
}

// fencesTimeout is how long a start waits for the fences. Without them the known ones hold.
const fencesTimeout = 5 * time.Second

// readFences reads the fences of erased tenants, before any module reads records behind them.
func readFences(ctx context.Context, p *Process) (*tenants.Fences, error) {
	fences, err := tenants.OpenFences(p.cfg.Data, p.log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, fencesTimeout)
	defer cancel()
	if err := fences.Read(ctx, theStore.get(p)); err != nil {
		p.log.Warn("cannot read which tenants were erased; the known ones stay erased", "error", err)
	}
	return fences, nil
}

// weights is the store of weights and usage that searches watch.
type weights struct {
	stream.Watcher
	stale func() bool // whether they may be behind the store; nil: never
}

// turn allows one of several processes to work.
type turn interface {
	Check() error // why another process has the turn
	Run(ctx context.Context, work func(context.Context) error) error
}

// permanentTurn is the turn of a process that has no peers.
type permanentTurn struct{}

func (permanentTurn) Check() error { return nil }

func (permanentTurn) Run(ctx context.Context, work func(context.Context) error) error {
	return work(ctx)
}

// The subjects of services, after the prefix. Callers use the first two, services the third.
const (
	searchSubject = "search"
	embedSubject  = "embed"
	repeatSubject = "repeat"
)

// answers adds a NATS service.
func (p *Process) answers(c natsadapter.Config, handle natsadapter.Handler) {
	limiter := theLimits.get(p).limiter
	c.Version, c.Logger, c.Traces = p.version, p.log, theTraces.get(p).Provider()
	c.Admit = func(ctx context.Context, bytes int) (int, error) {
		return limiter.Take(ctx, "/v1/"+strings.TrimPrefix(c.Subject, p.subject("")), bytes)
	}
	p.starts(c.Name, natsadapter.NewService(c, theConn.get(p), handle).Run)
}

package app

import (
	"context"
	"encoding/json"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/indexmgr"
	"github.com/toolstream/toolstream/internal/rungroup"
	"github.com/toolstream/toolstream/internal/status"
)

// processSubject is where all processes on NATS describe themselves. The request is the
// name of the tenant that asks.
const processSubject = "processes"

// discover lets the process describe itself to the others, and ask them.
func (s *Served) discover() {
	processes := natsadapter.NewScatterGather(s.conn, s.nats.subject(processSubject), func(tenant []byte) []byte {
		raw, _ := json.Marshal(s.describe(string(tenant))) // texts and numbers always encode
		return raw
	})
	s.processes = func(ctx context.Context, tenant string) []status.Process {
		answers, err := processes.Ask(ctx, []byte(tenant), status.PeerTimeout)
		if err != nil {
			return nil // NATS is away, which the status says
		}
		return status.Processes(answers)
	}
	s.background = append(s.background, rungroup.New("peer discovery", processes.Run))
}

// describe describes this process.
func (s *Served) describe(tenant string) status.Process {
	p := status.Process{Services: s.names, Address: s.URL(), Version: s.version, Started: s.started}
	p.AskReady(s.whyNotReady)
	if s.indexes == nil {
		return p
	}
	if s.indexes.Query != nil {
		p.Weights, p.Epoch = s.indexes.Query.WeightsVersion(tenant), s.indexes.Query.WeightsEpoch(tenant)
	}
	r := s.indexes.Local()
	if r.Live == 0 { // the trainer has no index version at work
		return p
	}
	p.Target = r.Target
	if s.indexes.Searches {
		p.Live = r.Live
	}
	for _, v := range r.Versions {
		if v.Number == r.Target {
			p.IndexProblem = v.Problem
		}
	}
	return p
}

// replicas are the processes that search or embed.
func (s *Served) replicas(ctx context.Context) []indexmgr.Replica {
	var out []indexmgr.Replica
	for _, p := range s.processes(ctx, "") {
		if p.Target != 0 {
			out = append(out, indexmgr.Replica{Services: p.Services, Address: p.Address, Live: p.Live, Target: p.Target, Problem: p.IndexProblem})
		}
	}
	return out
}

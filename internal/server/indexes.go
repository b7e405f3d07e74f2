package server

import (
	"context"

	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/server/reindex"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// planFile is the file of the plan of index versions, in a process that has peers.
const planFile = "plan.json"

// openIndexes reads the plan, which may be away with NATS, and opens the index version that
// was searched last. The trainer alone needs no model.
func openIndexes(ctx context.Context, p *Process) (*reindex.Manager, error) {
	c := reindex.Config{
		Settings: p.cfg, Embeds: p.runs(EmbedderService), Searches: p.runs(QueryService),
		Bus: theBus.get(p), Plans: theStore.get(p), Vectors: theWeaviate.get(p), Logger: p.log, Metrics: p.metrics, Traces: theTraces.get(p).Provider(),
	}
	if p.distributed {
		conn := theConn.get(p)
		c.File = planFile
		c.Repeat = func(ctx context.Context, ref schema.Ref) error {
			_, err := natsadapter.Ask(ctx, conn, p.subject(repeatSubject)+"."+ref.Tenant, []byte(events.Key(ref)))
			return err
		}
	}
	m := reindex.New(c)
	p.closes(m)
	p.gatherer = m
	m.ReadPlan(ctx)
	p.starts("plan", m.Plan.Run)
	if processes := thePeers.get(p).processes; processes != nil {
		m.Replicas = func(ctx context.Context) (out []reindex.Replica) {
			for _, d := range processes(ctx, "") {
				if d.Target != 0 {
					out = append(out, reindex.Replica{Services: d.Services, Address: d.Address, Live: d.Live, Target: d.Target, Problem: d.IndexProblem})
				}
			}
			return out
		}
	}
	p.describe = append(p.describe, func(_ string, d *status.Process) {
		r := m.Local()
		if r.Live == 0 { // the trainer has no index version at work
			return
		}
		d.Target = r.Target
		if c.Searches {
			d.Live = r.Live
		}
		for _, v := range r.Versions {
			if v.Number == r.Target {
				d.IndexProblem = v.Problem
			}
		}
	})
	p.erases(func(ctx context.Context, f tenants.Fence) error { return m.Erase(ctx, f.Tenant, erasedThrough(f)) })
	if !c.Embeds && !c.Searches {
		return m, nil
	}
	if err := m.Open(ctx); err != nil {
		return nil, err
	}
	p.starts("index versions", m.Run)
	return m, nil
}

// openEmbedder answers embed requests. The index versions embed documents.
func openEmbedder(_ context.Context, p *Process) (none, error) {
	m := theIndexes.get(p)
	p.ready = append(p.ready, (&status.HealthCheck{Name: "the embedding model", Ask: func(ctx context.Context) error { return m.Live().Ready(ctx) }}).Ready)
	p.answers(natsadapter.Config{
		Name: "toolstream-embedder", Subject: p.subject(embedSubject),
		Description: "Turns texts into the vectors that the index compares.",
	}, func(ctx context.Context, _ identity.Caller, body []byte) ([]byte, error) {
		return m.Handle(ctx, body)
	})
	return none{}, nil
}

// searched returns the index version that searches use.
func searched(m *reindex.Manager) status.Live {
	live := m.Live()
	out := status.Live{Number: live.Number, Model: live.Model, Index: live.Index}
	if m.SearchesWeaviate() {
		out.VectorsGroup = reindex.WeaviateGroup
	}
	return out
}

// erasedThrough returns the last revision of erased documents.
func erasedThrough(f tenants.Fence) uint64 {
	if f.Erasing {
		return events.MaxRevision
	}
	return f.Revision
}

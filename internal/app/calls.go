package app

import (
	"github.com/toolstream/toolstream/internal/adapter/mcp"
	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/permit"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/services/calls"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
)

// callsBucket is the bucket of what became of calls with idempotency keys.
const callsBucket = "calls"

// allowCalls is the value of calls.destructive that lets all calls be made.
const allowCalls = "allow"

// bucketOfCalls is that bucket, whoever makes it.
func (p *process) bucketOfCalls() natsadapter.KVConfig {
	b := p.nats.bucket(callsBucket)
	b.TTL = p.cfg.Calls.Idempotency
	return b
}

// buildCalls makes the service that calls tools, beside query.
func (p *process) buildCalls(known func() *sources.Service) error {
	c := p.cfg.Calls
	store, err := natsadapter.NewKV(p.bucketOfCalls(), p.conn)
	if err != nil {
		return err
	}
	permitted, transports, err := p.permit()
	if err != nil {
		return err
	}
	p.calls = calls.New(calls.Config{
		Destructive: c.Destructive == allowCalls, Timeout: c.Timeout, MaxResult: c.MaxResult, PerSource: c.PerSource,
		Idempotency: c.Idempotency, Record: c.Record, Providers: c.Providers,
	}, calls.Deps{
		Tool: p.query.Tool, Unknown: query.ErrNoTool, Policy: p.policy,
		Sources: func(tenant, name string) (calls.Source, bool) {
			of, there := known().One(tenant, name)
			return calls.Source{Spec: of.Spec, Found: of.Parent != "", State: string(of.State)}, there
		},
		Places: &permit.Places{
			Permit: permitted, Transports: transports.ForCalls(c.PerSource), Logger: p.log,
			Limits: source.Limits{Pages: listPages, Bytes: answerBytes(c.MaxResult)},
		},
		MCP: mcp.Connector{Version: p.version}, Idempotency: store, Report: p.query.Feedback, Showed: p.query.Showed,
		Logger: p.log, Registerer: p.metrics,
	})
	p.query.Connect(p.calls)
	p.run("calls", p.calls.Run)
	return nil
}

// listPages bounds the list that is read where a server wants arguments in headers.
const listPages = 1000

// answerBytes is how much of an answer is read of which most is given on: of binary content
// as text, of escapes, and of what stands around it.
func answerBytes(most int) int64 { return 4*int64(most) + 1<<20 }

package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/embedding"
	"github.com/toolstream/toolstream/internal/indexmgr"
	"github.com/toolstream/toolstream/internal/status"
)

// checks are what every process may need that searches.
func (p *process) checks() []status.Check {
	var out []status.Check
	if p.cfg.Embedder.Model == embedding.HTTP {
		out = append(out, status.Check{Name: "embedding endpoint", Address: status.Address(p.cfg.Embedder.URL), Setting: "embedder.url", Ask: p.modelReady})
	}
	if p.llm != nil {
		out = append(out, status.Check{Name: "language model", Address: status.Address(p.cfg.LLM.BaseURL), Setting: "llm.base_url", Ask: p.llmRests})
	}
	return out
}

// llmRests says why the language model is not asked. It is not asked for that: its
// answers cost.
func (p *process) llmRests(context.Context) error {
	var errs []error
	for stage, err := range p.llm.Tripped() {
		errs = append(errs, fmt.Errorf("%s does not ask it for a while: %w", stage, err))
	}
	return errors.Join(errs...)
}

// serverChecks are those of servers and services that other processes run.
func (s *Served) serverChecks() []status.Check {
	out := []status.Check{
		{Name: "Kafka", Address: s.cfg.Kafka.Brokers, Setting: "kafka.brokers", Ask: s.kafka.Ready},
		{Name: "NATS", Address: status.Address(s.cfg.NATS.URL), Setting: "nats.url", Ask: s.natsReady},
	}
	if s.vectors != nil {
		out = append(out, status.Check{Name: "Weaviate", Address: status.Address(s.cfg.Weaviate.URL), Setting: "weaviate.url", Ask: s.vectors.Ready})
	}
	for _, peer := range s.peers() {
		out = append(out, status.Check{Name: peer.name, Address: status.Address(peer.address), Setting: "peers." + peer.name, Ask: func(ctx context.Context) error {
			return status.PeerReady(ctx, &http.Client{Transport: s.toPeers}, peer.address)
		}})
	}
	return out
}

// natsReady says why NATS is not there.
func (s *Served) natsReady(context.Context) error {
	if s.conn.IsConnected() {
		return nil
	}
	if err := natsadapter.LastError(s.conn); err != nil {
		return fmt.Errorf("no connection: %w", err)
	}
	return errors.New("no connection")
}

// searched is the index version that searches use.
func (p *process) searched() status.Live {
	live := p.indexes.Live()
	out := status.Live{Number: live.Number, Model: live.Model, Index: live.Index}
	if p.indexes.SearchesWeaviate() {
		out.VectorsGroup = indexmgr.WeaviateGroup
	}
	return out
}

// models are the embedding models that are indexed.
func (p *process) models() (out []status.Model) {
	for _, v := range p.indexes.Local().Versions {
		out = append(out, status.Model{Number: v.Number, Setting: v.Setting, Model: v.Model, State: v.State, Problem: v.Problem})
	}
	return out
}

// modelReady asks the model that is searched by, if it lies behind an endpoint.
func (p *process) modelReady(ctx context.Context) error { return p.indexes.Live().Ready(ctx) }

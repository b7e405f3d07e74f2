package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/config"
)

// Dependency is something that a process needs of others.
type Dependency struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
	Setting string `json:"setting" doc:"That names it."`
}

// need is a dependency, and how it is asked whether it answers.
type need struct {
	Dependency
	check func(context.Context) error
}

func (n need) look(ctx context.Context) Dependency {
	d := n.Dependency
	if err := within(ctx, func() error { return n.check(ctx) }); err != nil {
		d.Problem = err.Error()
	}
	d.OK = d.Problem == ""
	return d
}

// within is check, or that it has not answered by the end of ctx.
func within(ctx context.Context, check func() error) error {
	done := make(chan error, 1)
	go func() { done <- check() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.New("no answer yet")
	}
}

// needs are what every process may need that searches.
func (b *base) needs(f *fleet) []need {
	var out []need
	if b.cfg.Embedder.Model == endpointModel {
		out = append(out, need{Dependency{Name: "embedding endpoint", Address: bare(b.cfg.Embedder.URL), Setting: "embedder.url"}, f.modelAnswers})
	}
	if b.llm != nil {
		out = append(out, need{Dependency{Name: "language model", Address: bare(b.cfg.LLM.BaseURL), Setting: "llm.base_url"}, b.asksModel})
	}
	return out
}

// asksModel says why the language model is not asked. It is not asked for that:
// its answers cost.
func (b *base) asksModel(context.Context) error {
	var errs []error
	for stage, err := range b.llm.Resting() {
		errs = append(errs, fmt.Errorf("%s does not ask it for a while: %w", stage, err))
	}
	return errors.Join(errs...)
}

// needs are those of a query replica that runs apart.
func (s *Served) needs() []need {
	out := []need{
		{Dependency{Name: "Kafka", Address: s.cfg.Kafka.Brokers, Setting: "kafka.brokers"}, s.bus.Ready},
		{Dependency{Name: "NATS", Address: bareAll(s.cfg.NATS.URL), Setting: "nats.url"}, s.meets},
	}
	if s.vectors != nil {
		out = append(out, need{Dependency{Name: "Weaviate", Address: bare(s.cfg.Weaviate.URL), Setting: "weaviate.url"}, s.vectors.Ready})
	}
	for _, peer := range s.peers() {
		out = append(out, need{Dependency{Name: peer.name, Address: peer.address, Setting: "peers." + peer.name}, func(ctx context.Context) error {
			return peerReady(ctx, peer.address)
		}})
	}
	return append(out, s.base.needs(s.fleet)...)
}

// peer is another service at its address.
type peer struct{ name, address string }

// peers are the services that requests are passed on to.
func (s *Served) peers() []peer {
	p := s.cfg.Peers
	var out []peer
	for _, other := range []peer{{IngestService, p.Ingest}, {QueryService, p.Query}, {TrainerService, p.Trainer}} {
		if other.address != "" && !s.serves(other.name) {
			out = append(out, other)
		}
	}
	return out
}

// meets says why NATS is not there.
func (s *Served) meets(context.Context) error {
	if s.conn.IsConnected() {
		return nil
	}
	if err := s.conn.LastError(); err != nil {
		return fmt.Errorf("no connection: %w", err)
	}
	return errors.New("no connection")
}

// peerReady asks a service whether it does its work.
func peerReady(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		return nil
	}
	var said huma.ErrorModel
	if json.NewDecoder(res.Body).Decode(&said) != nil || said.Detail == "" {
		return errors.New(res.Status)
	}
	return errors.New(said.Detail)
}

// bare is an address without what may be secret in it.
func bare(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

func bareAll(addresses string) string {
	var out []string
	for address := range strings.SplitSeq(addresses, ",") {
		out = append(out, bare(strings.TrimSpace(address)))
	}
	return strings.Join(out, ",")
}

// Finding is something that is set in a way that is hardly meant.
type Finding struct {
	Wrong  bool   `json:"wrong" doc:"It keeps something from working; else it is for you to judge."`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// findings looks at the settings of the process.
func (r *reporter) findings() []Finding {
	var out []Finding
	add := func(is, wrong bool, what, remedy string) {
		if is {
			out = append(out, Finding{wrong, what, remedy})
		}
	}
	own, live := settingOf(r.cfg.Embedder), r.fleet.Live()
	plan, _ := r.fleet.planner.Plan()
	target, _ := plan.Find(plan.Target)
	add(own != live.Setting && own != target.Setting, true, fmt.Sprintf("embedder.model is %s, but searches use %s", own, live.Setting),
		fmt.Sprintf("change the model with `toolstream reindex --model %s`, or set embedder.model back to %s", own, live.Setting))
	add(r.cfg.Auth.TokensFile == "" && !config.Loopback(r.cfg.Listen), false, "everybody who reaches "+r.cfg.Listen+" may call", "set auth.tokens_file to a file with a line tenant:token for each credential, or let only trusted callers in")
	l := r.cfg.LLM
	add(l.DailyCost > 0 && l.PricePrompt == 0 && l.PriceCompletion == 0, true, "llm.daily_cost bounds nothing: prices are 0", "set llm.price_prompt and llm.price_completion, or bound llm.daily_tokens")
	if r.mode == ModeDistributed {
		add(r.cfg.Peers.Ingest == "", false, "peers.ingest is not set: this address takes no imports", "set it to where ingest answers, or import there")
		add(r.cfg.Peers.Trainer == "", false, "peers.trainer is not set: `toolstream weights` does not work at this address", "set it to where the trainer answers")
		add(r.cfg.Vectors() == config.VectorsWeaviate && r.cfg.Weaviate.URL == "", true, "query.vectors is weaviate, but there is none", "set weaviate.url and weaviate.grpc, or query.vectors to replica")
	}
	for _, topic := range r.topics.found() {
		out = append(out, Finding{true, "Kafka: " + topic, "`toolstream topics check` shows it; change the topic as docs/kafka.md says"})
	}
	return out
}

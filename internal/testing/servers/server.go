// Package servers starts the real servers of the distributed deployment, for
// tests and for trying it out: Apache Kafka, Weaviate and NATS, each a single
// node on loopback, a child of this process that dies with it; for tests of the Helm
// chart a control plane of Kubernetes, helm and promtool; and a small language model.
// They are built once, from packages of the configured registries, and kept outside
// the checkout.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Names of the servers, in the order that a deployment starts them.
const (
	KafkaName    = "kafka"
	NATSName     = "nats"
	WeaviateName = "weaviate"
)

// startLimit bounds the start of a server, which takes seconds on an idle machine
// and more while every processor compiles.
const startLimit = 2 * time.Minute

// stopLimit bounds the wait of Stop for an orderly end, in addition to its
// context.
const stopLimit = 30 * time.Second

// Server is one running server. Its methods may be called from several
// goroutines; one start or stop happens at a time.
type Server struct {
	Name    string // a name from above
	Version string // as its project writes it, without a leading v
	Addr    string // host:port of its clients; HTTP for Weaviate
	GRPC    string // host:port of gRPC, Weaviate alone
	Dir     string // settings, data and the log, server.log

	plan    plan
	release func() error // of Dir
	mu      sync.Mutex
	process *process
}

// plan describes each start of a server on its data.
type plan struct {
	addr, grpc string
	argv, env  []string
	ready      func(context.Context) error
}

// recipe describes how to build a server and lay out its folder.
type recipe struct {
	name, version string
	make          func(ctx context.Context, home string) error              // fills an empty folder
	lay           func(ctx context.Context, home, dir string) (plan, error) // prepares dir, which may hold data; nil if it is not a server
}

// Names lists the servers of a deployment in start order.
func Names() []string { return []string{KafkaName, NATSName, WeaviateName} }

// Start starts the server called name: Kafka as a broker that is its own
// controller (KRaft) and creates no topics by itself, NATS with JetStream that syncs
// every write, Weaviate without vectorizers and without classes that appear by
// writing to them. The folder dir holds its data and is kept; an empty dir means
// a temporary folder that Stop removes. For errors see Provision.
func Start(ctx context.Context, name, dir string) (*Server, error) {
	r, err := recipeOf(name)
	if err == nil && r.lay == nil {
		err = fmt.Errorf("%s is not a server to start", name)
	}
	if err != nil {
		return nil, err
	}
	return start(ctx, r, dir)
}

// recipes returns the recipes of all servers and programs.
func recipes() []recipe {
	return []recipe{
		{name: KafkaName, version: kafkaVersion, make: makeKafka, lay: layKafka},
		{name: NATSName, version: natsVersion, make: installed("github.com/nats-io/nats-server/v2", natsVersion), lay: layNATS},
		{name: WeaviateName, version: weaviateVersion, make: installed("github.com/weaviate/weaviate/cmd/weaviate-server", weaviateVersion), lay: layWeaviate},
		{name: HelmName, version: kubernetesVersion, make: func(ctx context.Context, home string) error {
			return makePrograms(ctx, home, nil, "helm.sh/helm/v3/cmd/helm", "github.com/helm-unittest/helm-unittest/cmd/helm-unittest", "github.com/norwoodj/helm-docs/cmd/helm-docs")
		}},
		{name: KubernetesName, version: kubernetesVersion, make: makeKubernetes},
		{name: PromtoolName, version: prometheusVersion, make: makePromtool},
		{name: LlamaName, version: llamaVersion, make: makeLlama, lay: layLlama},
		{name: MCPName, version: versionOf(npmLock, pipPackages), make: packaged(npmPackages, npmLock, pipPackages)},
		{name: AgentsName, version: versionOf(agentsLock, agentsPip), make: packaged(agentsNPM, agentsLock, agentsPip)},
		{name: ClientsName, version: versionOf(clientsLock, clientsPip), make: packaged(clientsNPM, clientsLock, clientsPip)},
		{name: ConsoleName, version: versionOf(consoleLock), make: func(ctx context.Context, home string) error {
			return npmCI(ctx, home, map[string][]byte{"package.json": consolePackages, "package-lock.json": consoleLock})
		}},
		{name: RegistryName, version: registryVersion, make: installed("github.com/modelcontextprotocol/registry/cmd/registry", registryVersion)},
		{name: IdentityName, version: versionOf(identityLock, identityProvider), make: makeIdentity},
		{name: KeycloakName, version: keycloakVersion, make: makeKeycloak},
	}
}

func recipeOf(name string) (recipe, error) {
	var names []string
	for _, r := range recipes() {
		if r.name == name {
			return r, nil
		}
		names = append(names, r.name)
	}
	return recipe{}, fmt.Errorf("no server is called %q: there are %s", name, strings.Join(names, ", "))
}

func start(ctx context.Context, r recipe, dir string) (*Server, error) {
	home, err := provide(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("provision %s %s: %w", r.name, r.version, err)
	}
	at, err := open(ctx, r.name, dir)
	if err != nil {
		return nil, fmt.Errorf("folder of %s: %w", r.name, err)
	}
	s := &Server{Name: r.name, Version: r.version, Dir: at.path, release: at.release}
	if s.plan, err = r.lay(ctx, home, s.Dir); err == nil {
		s.Addr, s.GRPC = s.plan.addr, s.plan.grpc
		err = s.launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s %s: %w", r.name, r.version, err), s.release())
	}
	return s, nil
}

// launch starts the process and waits until it answers. The caller holds mu or is
// the only user.
func (s *Server) launch(ctx context.Context) error {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p, err := spawn(s.plan.argv, s.plan.env, s.Dir, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.await(ctx, p); err != nil {
		p.kill()
		return fmt.Errorf("%w; the end of its log:\n%s", err, tail(s.logPath()))
	}
	s.process = p
	return nil
}

// await asks the server until it answers, its process ends, or ctx does.
func (s *Server) await(ctx context.Context, p *process) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		asked, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := s.plan.ready(asked)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("ended before it answered: %w", p.err)
		case <-ctx.Done():
			return fmt.Errorf("did not answer: %w (%v)", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// Ready asks the server once whether it answers as it did after its start.
func (s *Server) Ready(ctx context.Context) error { return s.plan.ready(ctx) }

// PID returns the id of the process, or of the last process after it ended.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.pid
}

// Done returns a channel that is closed when the present process has ended,
// for any reason.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.done
}

// Kill ends the process as a crash would (SIGKILL) and returns when it is gone.
// The data stays for Restart.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.kill()
}

// Stop ends the process with SIGTERM, or kills it and returns an error once ctx
// ends or half a minute is over. It removes a temporary folder. Stopping a
// process that has ended is not an error.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.halt(ctx), s.release())
}

// Restart starts the server again on the same data and ports. It first stops a
// running server in order.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.halt(ctx)
	if err == nil {
		err = s.launch(ctx)
	}
	if err != nil {
		return fmt.Errorf("restart %s %s: %w", s.Name, s.Version, err)
	}
	return nil
}

func (s *Server) halt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	if err := s.process.stop(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", s.Name, err)
	}
	return nil
}

// Log returns the end of the server's log.
func (s *Server) Log() string { return tail(s.logPath()) }

func (s *Server) logPath() string { return filepath.Join(s.Dir, "server.log") }

// tail returns the last lines of a log, at most 4 kB of them.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if more := len(text) - 4096; more > 0 {
		text = text[more:]
	}
	return strings.TrimSpace(string(text))
}

// Package servers starts the real servers of the distributed deployment, for
// tests and for trying it out: Apache Kafka, Weaviate and NATS, each a single
// node on loopback, a child of this process that dies with it; for tests of the Helm
// chart a control plane of Kubernetes, helm and promtool; and a small language model.
// They are made once, from packages that the configured registries serve, and kept
// outside of the checkout.
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

// Names of the servers, in the order in which a deployment starts them.
const (
	KafkaName    = "kafka"
	NATSName     = "nats"
	WeaviateName = "weaviate"
)

// startLimit is how long a server may take to answer: seconds on an idle
// machine, more while every processor compiles.
const startLimit = 2 * time.Minute

// stopLimit is how long Stop waits for an orderly end if its context allows
// longer.
const stopLimit = 30 * time.Second

// Server is one running server. Its methods may be called from several
// goroutines; one start or stop happens at a time.
type Server struct {
	Name    string // one of the names above
	Version string // as its project writes it, without a leading v
	Addr    string // host:port of its clients; HTTP for Weaviate
	GRPC    string // host:port of gRPC, Weaviate alone
	Dir     string // settings, data and the log, server.log

	plan    plan
	release func() error // of Dir
	mu      sync.Mutex
	process *process
}

// plan is how a server is started over its data, the first time and again.
type plan struct {
	addr, grpc string
	argv, env  []string
	ready      func(context.Context) error
}

// recipe is how a server is made and laid out.
type recipe struct {
	name, version string
	make          func(ctx context.Context, home string) error              // fills an empty folder
	lay           func(ctx context.Context, home, dir string) (plan, error) // prepares dir, which may hold data; nil: it is no server
}

// Names lists the servers of a deployment in the order in which it starts them.
func Names() []string { return []string{KafkaName, NATSName, WeaviateName} }

// Start starts the server called name: Kafka as a broker that is its own
// controller (KRaft) and creates no topics by itself, NATS with JetStream that syncs
// every write, Weaviate without vectorizers and without classes that appear by
// writing to them. The folder dir holds its data and is kept; an empty dir stands
// for a temporary folder that Stop removes. For errors see Provision.
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

func recipeOf(name string) (recipe, error) {
	for _, r := range []recipe{kafkaRecipe(), natsRecipe(), weaviateRecipe(), helmRecipe(), kubernetesRecipe(), promtoolRecipe(), llamaRecipe(), mcpRecipe(), agentsRecipe(), clientsRecipe(), consoleRecipe(), registryRecipe(), identityRecipe(), keycloakRecipe()} {
		if r.name == name {
			return r, nil
		}
	}
	return recipe{}, fmt.Errorf("no server is called %q: there are %s", name, strings.Join(append(Names(), HelmName, KubernetesName, PromtoolName, LlamaName, MCPName, AgentsName, ClientsName, ConsoleName, RegistryName, IdentityName, KeycloakName), ", "))
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

// launch starts the process and waits until it answers. The caller holds mu, or
// is alone.
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

// PID returns the id of the process, or that of the last one after it ended.
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
// The data stays: Restart goes on with it.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.kill()
}

// Stop ends the process in order (SIGTERM), by force once ctx ends or half a
// minute is over, which is an error, and removes the folder if it is a temporary
// one. Stopping a process that has ended is no error.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.halt(ctx), s.release())
}

// Restart starts the server again on the same data and ports, after it ended it
// in order if it runs.
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

// Log returns the end of what the server wrote.
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

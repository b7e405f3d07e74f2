// Command distributed starts Kafka, NATS, Weaviate and the five services of
// toolstream on loopback, each in a process of its own, imports the sample
// registry, shows a search, and stops everything when it is interrupted or one
// of them ends. It is for trying out the distributed deployment; its data is
// temporary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/internal/servers"
)

// drainLimit is how long a service may take to end in order.
const drainLimit = 30 * time.Second

type options struct {
	bin, documents, query, listen string

	weaviate bool
}

func main() {
	var o options
	flag.StringVar(&o.bin, "toolstream", "bin/toolstream", "built `program`")
	flag.StringVar(&o.documents, "import", "examples/registry/tools", "`path` to import")
	flag.StringVar(&o.query, "try", "will it rain in Lisbon tomorrow?", "`query` to search then")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:8665", "`address` of ingest, which passes on what is for the others")
	flag.BoolVar(&o.weaviate, "weaviate", true, "let Weaviate search vectors; without it every query replica searches its own")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "distributed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "toolstream-distributed")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var running []*servers.Server
	defer func() {
		for _, s := range running {
			err = errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}()
	names := []string{servers.KafkaName, servers.NATSName}
	if o.weaviate {
		names = append(names, servers.WeaviateName)
	}
	for _, name := range names {
		s, err := servers.Start(ctx, name, "")
		if err != nil {
			return err
		}
		running = append(running, s)
		fmt.Printf("%-12s  %s\n", s.Name, s.Addr)
	}
	return serve(ctx, o, dir, running)
}

// service is one process to start.
type service struct{ name, listen string }

// services lists the processes, consumers before producers, with free ports but
// for the last, which is everybody's door.
func services(listen string) ([]service, error) {
	names := []string{"query", "trainer", "embedder", "standardizer"}
	ports, err := servers.FreePorts(len(names))
	if err != nil {
		return nil, err
	}
	var out []service
	for i, name := range names {
		out = append(out, service{name, fmt.Sprintf("127.0.0.1:%d", ports[i])})
	}
	return append(out, service{"ingest", listen}), nil
}

// serve runs the services until ctx ends or one of them does.
func serve(ctx context.Context, o options, dir string, running []*servers.Server) error {
	list, err := services(o.listen)
	if err != nil {
		return err
	}
	env := environment(running, list)
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range list {
		cmd := exec.CommandContext(gctx, o.bin, "serve", s.name, "--data", filepath.Join(dir, s.name), "--listen", s.listen)
		cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, os.Stdout, os.Stderr, drainLimit
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		g.Go(func() error { return ended(ctx, s.name, cmd.Run()) })
	}
	for _, s := range running {
		g.Go(func() error {
			select {
			case <-s.Done():
				return fmt.Errorf("%s ended; the end of its log:\n%s", s.Name, s.Log())
			case <-gctx.Done():
				return nil
			}
		})
	}
	g.Go(func() error { return show(gctx, o, list) })
	return g.Wait()
}

// environment tells the services where the servers and the others are.
func environment(running []*servers.Server, list []service) []string {
	env := append([]string{"TOOLSTREAM_LOG_LEVEL=warn"}, os.Environ()...) // the last of a name counts
	env = append(env, "TOOLSTREAM_PEERS_QUERY=http://"+list[0].listen, "TOOLSTREAM_PEERS_TRAINER=http://"+list[1].listen)
	for _, s := range running {
		switch s.Name {
		case servers.KafkaName:
			env = append(env, "TOOLSTREAM_KAFKA_BROKERS="+s.Addr)
		case servers.NATSName:
			env = append(env, "TOOLSTREAM_NATS_URL=nats://"+s.Addr)
		case servers.WeaviateName:
			env = append(env, "TOOLSTREAM_WEAVIATE_URL=http://"+s.Addr, "TOOLSTREAM_WEAVIATE_GRPC="+s.GRPC, "TOOLSTREAM_QUERY_VECTORS=weaviate")
		}
	}
	return env
}

// ended tells an end that was asked for from any other.
func ended(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("%s ended: %w", name, errors.Join(err, errors.New("nobody asked for it")))
}

// show imports and searches once everything is ready.
func show(ctx context.Context, o options, list []service) error {
	for _, s := range list {
		if err := ready(ctx, s); err != nil {
			return unlessOver(ctx, err)
		}
	}
	for _, args := range [][]string{{"import", "--wait", o.documents}, {"search", o.query, "-k", "3"}} {
		cmd := exec.CommandContext(ctx, o.bin, append(args, "--server", "http://"+o.listen)...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return unlessOver(ctx, fmt.Errorf("%s: %w", args[0], err))
		}
	}
	fmt.Printf("\nthe API of all services is at http://%s; ctrl-C stops them\n", o.listen)
	return nil
}

func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ready waits until a service says that it is.
func ready(ctx context.Context, s service) error {
	c := client.Client{Server: "http://" + s.listen, HTTP: http.DefaultClient}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := c.Send(ctx, http.MethodGet, "/readyz", nil, "", nil)
		if err == nil {
			return body.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s does not become ready: %w", s.name, err)
		}
	}
}

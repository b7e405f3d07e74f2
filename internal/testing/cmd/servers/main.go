// Command servers starts the servers of the distributed deployment on loopback,
// prints their addresses, and stops them when it is interrupted or a server ends.
// It runs the command after "--", if any, with the addresses in its environment,
// and then stops the servers. It is for development; toolstream itself does not
// need it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

type options struct {
	names   []string
	command []string // runs while the servers are up; may be empty
	data    string
	only    bool
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if err := run(ctx, parse()); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

func parse() options {
	var o options
	flag.StringVar(&o.data, "data", "", "`folder` that keeps the data; without it, it is temporary")
	flag.BoolVar(&o.only, "provision", false, "make the servers, but start none")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: servers [flags] [%s]... [-- COMMAND]\n", strings.Join(servers.Names(), "|"))
		flag.PrintDefaults()
	}
	flag.Parse()
	o.names = flag.Args()
	if at := slices.Index(o.names, "--"); at >= 0 {
		o.names, o.command = o.names[:at], o.names[at+1:]
	}
	if len(o.names) == 0 {
		o.names = servers.Names()
	}
	return o
}

func run(ctx context.Context, o options) error {
	for _, name := range o.names {
		if err := provision(ctx, name); err != nil {
			return err
		}
	}
	if o.only {
		return nil
	}
	running, err := startAll(ctx, o)
	switch {
	case err != nil:
	case len(o.command) > 0:
		err = runBeside(ctx, running, o.command)
	default:
		err = wait(ctx, running)
	}
	for _, s := range slices.Backward(running) {
		err = errors.Join(err, s.Stop(context.Background()))
	}
	return err
}

func provision(ctx context.Context, name string) error {
	if servers.Provisioned(name) {
		return nil
	}
	fmt.Printf("%-8s  is made, once\n", name)
	began := time.Now()
	if _, err := servers.Provision(ctx, name); err != nil {
		return err
	}
	fmt.Printf("%-8s  made in %v\n", name, time.Since(began).Round(time.Second))
	return nil
}

// startAll starts the servers. It returns the running servers even if another did not start.
func startAll(ctx context.Context, o options) ([]*servers.Server, error) {
	var running []*servers.Server
	for _, name := range o.names {
		dir := ""
		if o.data != "" {
			dir = filepath.Join(o.data, name)
		}
		s, err := servers.Start(ctx, name, dir)
		if err != nil {
			return running, err
		}
		running = append(running, s)
		fmt.Printf("%-8s  %-7s  %s  %sprocess %d, %s\n", s.Name, s.Version, s.Addr, grpc(s), s.PID(), s.Dir)
	}
	return running, nil
}

func grpc(s *servers.Server) string {
	if s.GRPC == "" {
		return ""
	}
	return "gRPC " + s.GRPC + "  "
}

// runBeside runs the command with the addresses of the servers.
func runBeside(ctx context.Context, running []*servers.Server, command []string) error {
	var addresses []string
	for _, s := range running {
		address := s.Name + "=" + s.Addr
		if s.GRPC != "" {
			address += "/" + s.GRPC
		}
		addresses = append(addresses, address)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), level.Servers+"="+strings.Join(addresses, ","))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // an orderly end on request
	}
	return err
}

// wait returns when ctx ends, or with an error when a server does.
func wait(ctx context.Context, running []*servers.Server) error {
	ended := make(chan *servers.Server, len(running))
	for _, s := range running {
		go func() {
			<-s.Done()
			ended <- s
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case s := <-ended:
		return fmt.Errorf("%s ended; the end of its log:\n%s", s.Name, s.Log())
	}
}

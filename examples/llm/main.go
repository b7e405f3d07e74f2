// Command llm is an endpoint for trying out what toolstream does with a
// language model, without one: it speaks the protocol and answers by a few
// rules. It understands nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/toolstream/toolstream/internal/testing/llmtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and then prints its counts.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("llm", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8668", "address")
	latency := flags.Duration("latency", 0, "before each answer, as a model would think")
	chance := flags.Float64("faults", 0, "share of answers that go wrong, from 0 to 1, in all ways that llmtest knows")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *chance < 0 || *chance > 1 || *latency < 0 {
		return fmt.Errorf("llm: see --help")
	}
	s, err := llmtest.Listen(ctx, *listen, llmtest.Config{
		Model: "rules", Answer: rule, Latency: *latency, Faults: llmtest.Mixed(1, *chance, llmtest.All()...), RetryAfter: time.Second,
	})
	if err != nil {
		return fmt.Errorf("llm: %w", err)
	}
	fmt.Fprintf(out, "answers by rules at %s\n\n    export TOOLSTREAM_LLM_BASE_URL=%s TOOLSTREAM_LLM_MODEL=rules\n    toolstream up\n\n", s.URL(), s.URL())
	<-ctx.Done()
	c := s.Counts()
	fmt.Fprintf(out, "%d calls, %d words of prompts, %d of answers\n", c.Calls, c.Prompt, c.Completion)
	var names []string
	for name := range c.By {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(out, "  %-14s %6d\n", name, c.By[name].Calls)
	}
	return s.Close()
}

package app

import (
	"context"
	"errors"
	"fmt"
)

// part is a piece of the process that runs until its context ends.
type part struct {
	name string
	run  func(context.Context) error
}

// runParts starts the parts in order, consumers before producers, and runs
// them until ctx ends or one of them fails. It then stops them one by one in
// the opposite order, so that each drains into consumers that still live, and
// returns every error.
func runParts(ctx context.Context, parts []part) error {
	ended := make(chan error, len(parts))
	var stops []func()
	for _, p := range parts {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		go func() {
			defer close(done)
			ended <- p.outcome(own)
		}()
		stops = append(stops, func() { cancel(); <-done })
	}
	var errs []error
	select {
	case <-ctx.Done():
	case err := <-ended:
		errs = append(errs, err)
	}
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	close(ended)
	for err := range ended {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// outcome runs the part; one that ends before it is told to has failed.
func (p part) outcome(ctx context.Context) error {
	err := p.run(ctx)
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", p.name, err)
	case ctx.Err() == nil:
		return fmt.Errorf("%s: ended by itself", p.name)
	}
	return nil
}

package lifecycle

import (
	"context"
	"errors"
	"fmt"
)

// Service runs until its context ends.
type Service struct {
	Name string
	Run  func(context.Context) error
}

// NewService returns a service.
func NewService(name string, run func(context.Context) error) Service { return Service{name, run} }

// Run starts the services in order, consumers before producers, and runs them until ctx
// ends or one of them fails. It then stops them one by one in the opposite order, so that
// each drains into consumers that still run, and returns every error.
func Run(ctx context.Context, services []Service) error {
	ended := make(chan error, len(services))
	var stops []func()
	for _, s := range services {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		go func() {
			defer close(done)
			ended <- s.outcome(own)
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

// outcome runs the service; a service that ends before its context has failed.
func (s Service) outcome(ctx context.Context) error {
	err := s.Run(ctx)
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", s.Name, err)
	case ctx.Err() == nil:
		return fmt.Errorf("%s: ended by itself", s.Name)
	}
	return nil
}

package stream

import (
	"context"
	"errors"
)

// Parts from which adapters make a Follower: readers of partitions that pour into one channel, and
// one reader of that channel.

// Pour fetches batches of at most max messages into a channel until ctx ends or
// fetch fails, and returns why.
func Pour(ctx context.Context, into chan<- []Message, fetch func(ctx context.Context, max int) ([]Message, error), max int) error {
	for {
		msgs, err := fetch(ctx, max)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case into <- msgs:
		}
	}
}

// Deliver hands batches to handle, one at a time, until ctx ends or handle fails,
// and returns why.
func Deliver(ctx context.Context, batches <-chan []Message, handle func(context.Context, []Message) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case msgs := <-batches:
			if err := handle(ctx, msgs); err != nil {
				return err
			}
		}
	}
}

// OrDone drops the error of work that ended because ctx did.
func OrDone(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config bounds what a Client asks for. The zero value of a limit means its
// default; no budget and no price means none.
type Config struct {
	Timeout  time.Duration // of one try; 60 s
	Attempts int           // tries of one call, the first included; 4
	Patience time.Duration // longest pause before a try: who has to wait longer is told so; 30 s

	Parallel int // most tries at once; 8
	Start    int // tries at once to begin with; half of Parallel
	Reserve  int // of the tries at once, how many only rewriting may take

	Breaker Breaker
	Budget  Budget
	Prices  Prices
}

// Breaker says when a stage stops asking, and for how long.
type Breaker struct {
	Row    int           // failures in a row; 5
	Window int           // calls that a share is taken of; 50
	Share  float64       // of failures among them; 0.6
	Rest   time.Duration // before one call tries it again; 20 s
}

// Budget is what may be spent on one day (UTC) by this process; 0 is no bound.
// Calls that are under way when it is spent are paid on top of it.
type Budget struct {
	Tokens  int64 // of prompts and answers together
	Dollars float64
}

// Prices are dollars per million tokens.
type Prices struct {
	Prompt     float64
	Completion float64
}

// Deps is what a Client works with.
type Deps struct {
	Model Model
	// Store keeps the accounts over restarts; nil: they begin anew. With a
	// Store, calls wait until Run has read it.
	Store      Store
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Store keeps the accounts of one process.
type Store interface {
	// Load returns what was saved last, nil where there is nothing.
	Load(ctx context.Context) ([]byte, error)
	Save(ctx context.Context, accounts []byte) error
}

func (c Config) withDefaults() Config {
	standard(&c.Timeout, time.Minute)
	standard(&c.Attempts, 4)
	standard(&c.Patience, 30*time.Second)
	standard(&c.Parallel, 8)
	standard(&c.Start, max(1, c.Parallel/2))
	standard(&c.Breaker.Row, 5)
	standard(&c.Breaker.Window, 50)
	standard(&c.Breaker.Share, 0.6)
	standard(&c.Breaker.Rest, 20*time.Second)
	return c
}

func standard[T int | float64 | time.Duration](value *T, standard T) {
	if *value == 0 {
		*value = standard
	}
}

func (c Config) validate() error {
	switch {
	case min(c.Timeout, c.Patience, c.Breaker.Rest) < 0,
		min(c.Attempts, c.Parallel, c.Start, c.Reserve, c.Breaker.Row, c.Breaker.Window) < 0,
		min(c.Breaker.Share, c.Budget.Dollars, c.Prices.Prompt, c.Prices.Completion, float64(c.Budget.Tokens)) < 0:
		return errors.New("llm: a limit is negative")
	case c.Start > c.Parallel:
		return fmt.Errorf("llm: %d tries at once to begin with, but at most %d", c.Start, c.Parallel)
	case c.Budget.Dollars > 0 && c.Prices == Prices{}:
		return errors.New("llm: a budget in dollars needs prices")
	}
	return nil
}

func (d Deps) validate() error {
	if d.Model == nil || d.Now == nil || d.Logger == nil || d.Registerer == nil {
		return errors.New("llm: Model, Now, Logger and Registerer are needed")
	}
	return nil
}

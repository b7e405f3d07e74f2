package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/kit/files"
)

// Spent is what this process spent on one day.
type Spent struct {
	Day       string    `json:"day"` // UTC, as 2006-01-02
	Tokens    int64     `json:"tokens"`
	Dollars   float64   `json:"dollars" doc:"Cost in US dollars."`
	Exhausted bool      `json:"exhausted,omitempty"` // nothing is asked before the next day
	Accounts  []Account `json:"accounts"`            // by tenant, then stage
}

// Account is what one stage spent for one tenant.
type Account struct {
	Tenant string `json:"tenant"`
	Stage  Stage  `json:"stage"`
	// Calls counts tries by their outcome: answered, canceled, unsent, or the
	// kind of the failure. Unsent, broken and exhausted ones did not reach the
	// endpoint.
	Calls      map[string]int64 `json:"calls" doc:"Number of tries by outcome."`
	Prompt     int64            `json:"prompt" doc:"Tokens of prompts."`
	Completion int64            `json:"completion" doc:"Tokens of answers."`
	Dollars    float64          `json:"dollars" doc:"Cost in US dollars."`
}

// Outcomes of tries other than the kinds of failures.
const (
	Answered = "answered"
	Canceled = "canceled" // the caller went away, or had no more time
	Unsent   = "unsent"   // it had no more time before there was a turn
)

// ledger keeps the accounts of the day.
type ledger struct {
	budget Budget
	prices Prices
	file   string
	now    func() time.Time
	log    *slog.Logger
	saved  []byte // content of the file

	mu       sync.Mutex // guards the fields below
	day      string
	accounts map[accountKey]*Account
	tokens   int64
	dollars  float64
	told     bool // the log says that the budget is spent
}

type accountKey struct {
	tenant string
	stage  Stage
}

// newLedger reads the accounts of earlier today.
func newLedger(c Config, d Deps) *ledger {
	l := &ledger{budget: c.Budget, prices: c.Prices, file: d.Accounts, now: d.Now, log: d.Logger}
	l.turn()
	if l.file == "" {
		return l
	}
	raw, err := os.ReadFile(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return l
	}
	var s Spent
	if err = cmp.Or(err, json.Unmarshal(raw, &s)); err != nil {
		l.log.Warn("what the language model cost earlier today is lost", "error", err)
	}
	if s.Day == l.day {
		for _, a := range s.Accounts {
			l.add(a)
		}
	}
	return l
}

// turn begins a new day if there is one. The caller holds mu.
func (l *ledger) turn() {
	if day := l.now().UTC().Format(time.DateOnly); day > l.day {
		l.day, l.accounts = day, map[accountKey]*Account{}
		l.tokens, l.dollars, l.told = 0, 0, false
	}
}

// refusal returns an error if the budget is spent, and whether it does so for the
// first time on this day.
func (l *ledger) refusal() (err error, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn()
	if !l.exhausted() {
		return nil, false
	}
	first, l.told = !l.told, true
	now := l.now().UTC()
	midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
	return &Error{Kind: Exhausted, RetryAfter: midnight.Sub(now), Err: fmt.Errorf(
		"the budget of the day is spent: %d tokens, %.2f dollars; the next day begins at midnight UTC", l.tokens, l.dollars)}, first
}

// nothing is less money than any call costs, and more than sums of floats are
// wrong by.
const nothing = 1e-9

func (l *ledger) exhausted() bool {
	return l.budget.Tokens > 0 && l.tokens >= l.budget.Tokens || l.budget.Dollars > 0 && l.dollars >= l.budget.Dollars-nothing
}

// share returns the share of the day's budget that is spent.
func (l *ledger) share() (most float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn()
	if l.budget.Tokens > 0 {
		most = float64(l.tokens) / float64(l.budget.Tokens)
	}
	if l.budget.Dollars > 0 {
		most = max(most, l.dollars/l.budget.Dollars)
	}
	return most
}

// enter adds a try to the accounts and returns its cost in dollars.
func (l *ledger) enter(r Request, outcome string, u Usage) float64 {
	dollars := (float64(u.Prompt)*l.prices.Prompt + float64(u.Completion)*l.prices.Completion) / 1e6
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn()
	l.add(Account{
		Tenant: r.Tenant, Stage: r.Stage, Calls: map[string]int64{outcome: 1},
		Prompt: int64(u.Prompt), Completion: int64(u.Completion), Dollars: dollars,
	})
	return dollars
}

func (l *ledger) add(b Account) {
	key := accountKey{b.Tenant, b.Stage}
	a := l.accounts[key]
	if a == nil {
		a = &Account{Tenant: b.Tenant, Stage: b.Stage, Calls: map[string]int64{}}
		l.accounts[key] = a
	}
	for outcome, n := range b.Calls {
		a.Calls[outcome] += n
	}
	a.Prompt, a.Completion, a.Dollars = a.Prompt+b.Prompt, a.Completion+b.Completion, a.Dollars+b.Dollars
	l.tokens += b.Prompt + b.Completion
	l.dollars += b.Dollars
}

// spent returns the accounts of the day.
func (l *ledger) spent() Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn()
	s := Spent{Day: l.day, Tokens: l.tokens, Dollars: l.dollars, Exhausted: l.exhausted(), Accounts: []Account{}}
	for _, a := range l.accounts {
		b := *a
		b.Calls = maps.Clone(a.Calls)
		s.Accounts = append(s.Accounts, b)
	}
	slices.SortFunc(s.Accounts, func(a, b Account) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Stage, b.Stage))
	})
	return s
}

const saveEvery = 5 * time.Second

// Run keeps the accounts in their file until ctx ends.
func (c *Client) Run(ctx context.Context) error {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		if err := c.ledger.save(); err != nil {
			c.deps.Logger.Warn("the accounts of the language model are not saved", "error", err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// save writes the accounts if the file has others.
func (l *ledger) save() error {
	if l.file == "" {
		return nil
	}
	raw, err := json.Marshal(l.spent())
	if err != nil || bytes.Equal(raw, l.saved) {
		return err
	}
	if err := files.Write(l.file, raw, 0o600); err != nil {
		return err
	}
	l.saved = raw
	return nil
}

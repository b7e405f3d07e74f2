package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Spent is what this process spent on one day.
type Spent struct {
	Day       string    `json:"day"` // UTC, as 2006-01-02
	Tokens    int64     `json:"tokens"`
	Dollars   float64   `json:"dollars"`
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
	Calls      map[string]int64 `json:"calls"`
	Prompt     int64            `json:"prompt"`     // tokens
	Completion int64            `json:"completion"` // tokens
	Dollars    float64          `json:"dollars"`
}

// Outcomes of tries that are no kind of a failure.
const (
	Answered = "answered"
	Canceled = "canceled" // the caller went away, or had no more time
	Unsent   = "unsent"   // it had no more time before there was a turn
)

// ledger keeps the accounts of the day.
type ledger struct {
	budget Budget
	prices Prices

	mu       sync.Mutex // guards what follows
	day      string
	accounts map[accountKey]*Account
	tokens   int64
	dollars  float64
	dirty    bool // differs from what was saved
	told     bool // that the budget is spent
}

type accountKey struct {
	tenant string
	stage  Stage
}

func newLedger(c Config, now time.Time) *ledger {
	l := &ledger{budget: c.Budget, prices: c.Prices}
	l.begin(dayOf(now))
	return l
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func (l *ledger) begin(day string) {
	l.day, l.accounts = day, map[accountKey]*Account{}
	l.tokens, l.dollars, l.dirty, l.told = 0, 0, false, false
}

// turn begins a new day if there is one. The caller holds mu.
func (l *ledger) turn(now time.Time) {
	if day := dayOf(now); day > l.day {
		l.begin(day)
	}
}

// refusal says that the budget is spent, and whether it says so for the first
// time on this day; nil: it is not spent.
func (l *ledger) refusal(now time.Time) (err error, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	if !l.exhausted() {
		return nil, false
	}
	first, l.told = !l.told, true
	return &Error{Kind: Exhausted, RetryAfter: untilMidnight(now), Err: fmt.Errorf(
		"the budget of the day is spent: %d tokens, %.2f dollars; it begins anew at midnight UTC", l.tokens, l.dollars)}, first
}

// nothing is less money than any call costs, and more than sums of floats are
// wrong by.
const nothing = 1e-9

func (l *ledger) exhausted() bool {
	return l.budget.Tokens > 0 && l.tokens >= l.budget.Tokens || l.budget.Dollars > 0 && l.dollars >= l.budget.Dollars-nothing
}

// share returns which part of the day's budget is spent.
func (l *ledger) share(now time.Time) (most float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	if l.budget.Tokens > 0 {
		most = float64(l.tokens) / float64(l.budget.Tokens)
	}
	if l.budget.Dollars > 0 {
		most = max(most, l.dollars/l.budget.Dollars)
	}
	return most
}

func untilMidnight(now time.Time) time.Duration {
	now = now.UTC()
	return time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC).Sub(now)
}

// dollarsOf is what so many tokens cost.
func (l *ledger) dollarsOf(u Usage) float64 {
	return (float64(u.Prompt)*l.prices.Prompt + float64(u.Completion)*l.prices.Completion) / 1e6
}

// enter notes a try.
func (l *ledger) enter(now time.Time, r Request, outcome string, u Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	l.add(Account{
		Tenant: r.Tenant, Stage: r.Stage, Calls: map[string]int64{outcome: 1},
		Prompt: int64(u.Prompt), Completion: int64(u.Completion), Dollars: l.dollarsOf(u),
	})
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
	l.dirty = true
}

// spent returns the accounts of the day.
func (l *ledger) spent(now time.Time) Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
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

// merge adds what was saved earlier on this day.
func (l *ledger) merge(now time.Time, saved []byte) error {
	if len(saved) == 0 {
		return nil
	}
	var s Spent
	if err := json.Unmarshal(saved, &s); err != nil {
		return fmt.Errorf("llm: saved accounts: %w", err)
	}
	for _, a := range s.Accounts {
		if min(a.Prompt, a.Completion) < 0 || !(a.Dollars >= 0) {
			return errors.New("llm: saved accounts: an amount is negative")
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	if s.Day != l.day {
		return nil
	}
	for _, a := range s.Accounts {
		l.add(a)
	}
	return nil
}

// unsaved returns the accounts if they differ from what was saved.
func (l *ledger) unsaved(now time.Time) ([]byte, error) {
	l.mu.Lock()
	dirty := l.dirty
	l.dirty = false
	l.mu.Unlock()
	if !dirty {
		return nil, nil
	}
	return json.Marshal(l.spent(now))
}

// keep marks the accounts as unsaved.
func (l *ledger) keep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dirty = true
}

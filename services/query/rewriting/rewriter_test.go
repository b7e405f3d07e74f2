package rewriting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestARewriteIsPaidForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{Keep: time.Minute}, says(good))
		ask := func(what string, q Query, calls int, cached bool) {
			t.Helper()
			got, err := b.Rewrite(t.Context(), q)
			if err != nil || len(got.Needs) != 1 || got.Arguments["city"] == "" {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
			if b.model.times() != calls || got.Cached != cached {
				t.Errorf("%s: %d calls, cached %v; want %d, %v", what, b.model.times(), got.Cached, calls, cached)
			}
		}
		filters := schema.Filters{Tags: []string{"x", "y"}}
		ask("first", query("the weather"), 1, false)
		ask("again", query("the weather"), 1, true)
		ask("other white space", query("  the\n weather "), 1, true)
		b.index.set(entity("new", "Tells the weather, too."))
		ask("another catalogue", query("the weather"), 1, true)
		ask("filters", Query{Tenant: "t", Text: "the weather", Filters: filters}, 2, false)
		if !reflect.DeepEqual(b.index.filters, filters) {
			t.Errorf("the index was asked with the filters %+v", b.index.filters)
		}
		ask("the same filters", Query{Tenant: "t", Text: "the weather", Filters: schema.Filters{Tags: []string{"y", "x", "y"}}}, 2, true)
		ask("a filter of another kind", Query{Tenant: "t", Text: "the weather", Filters: schema.Filters{Providers: []string{"x", "y"}}}, 3, false)
		ask("only tools", Query{Tenant: "t", Text: "the weather", Filters: schema.Filters{Kinds: []schema.Kind{schema.KindTool}}}, 4, false)
		ask("other query", query("the rain"), 5, false)
		ask("other tenant", Query{Tenant: "u", Text: "the weather"}, 6, false)
		if got, want := b.outcomes(t), map[string]float64{"llm": 6, "cache": 4}; !maps.Equal(got, want) {
			t.Errorf("counted %v, want %v", got, want)
		}
		time.Sleep(30 * time.Second)
		b.restart(t, Config{Keep: time.Minute})
		ask("after a restart", query("the weather"), 6, true)
		b.answers.Fail(errors.New("away"))
		ask("from memory", query("the weather"), 6, true)
		ask("without the store", query("the wind"), 7, false)
		ask("again without the store", query("the wind"), 7, true)
		if log := b.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "not shared") || !strings.Contains(log, "away") {
			t.Errorf("logged %s", log)
		}
		b.answers.Fail(nil)
		time.Sleep(30 * time.Second)
		ask("after its time", query("the weather"), 8, false)
		b.restart(t, Config{Keep: time.Minute})
		b.model.name = "other"
		ask("another model", query("the weather"), 9, false)
	})
}

// The model is shown what the caller may find, and its answer is for callers who may find
// the same: it says of tools that are hidden from others what they do and take.
func TestARewriteIsInTheScopeOfItsCaller(t *testing.T) {
	b := newBench(t, Config{}, says(good))
	p := check.Value(policy.New("1", []policy.Grant{
		{Effect: policy.Allow, Action: policy.Find, On: "tag:a", To: "subject:anna"},
		{Effect: policy.Allow, Action: policy.Find, On: "tag:b", To: "subject:bert"},
	}))(t)
	of := func(subject string) Query {
		return Query{Tenant: "t", Text: "the weather", Scope: p.Scope(identity.Caller{Tenant: "t", Subject: subject}, policy.Find)}
	}
	for n, q := range []Query{query("the weather"), of("anna"), of("bert"), of("nobody")} {
		if got, err := b.Rewrite(t.Context(), q); err != nil || got.Cached || b.index.scope != q.Scope {
			t.Errorf("%d: %+v, %v, in the scope %+v", n, got, err, b.index.scope)
		}
	}
	if got, err := b.Rewrite(t.Context(), of("anna")); err != nil || !got.Cached {
		t.Errorf("again: %+v, %v", got, err)
	}
}

// An answer that adds nothing is paid for once, over restarts.
func TestAnAnswerThatAddsNothingIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{Keep: time.Hour}, says(`{"needs":[]}`))
		for range 3 {
			if _, err := b.Rewrite(t.Context(), query("the weather")); !errors.Is(err, ErrAnswer) {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			b.restart(t, Config{Keep: time.Hour})
		}
		if b.model.times() != 1 {
			t.Errorf("%d calls", b.model.times())
		}
		time.Sleep(time.Hour)
		b.model.answer = says(good)
		if _, err := b.Rewrite(t.Context(), query("the weather")); err != nil {
			t.Errorf("after its time: %v", err)
		}
	})
}

func TestTheSameQueryInFlightIsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, func(ctx context.Context, _ llm.Request) (llm.Answer, error) {
			select {
			case <-time.After(2 * time.Second):
				return says(good)(ctx, llm.Request{})
			case <-ctx.Done():
				return llm.Answer{}, ctx.Err()
			}
		})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				patience := time.Duration(i+1) * 500 * time.Millisecond // the first ones leave
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				began := time.Now()
				got, err := b.Rewrite(ctx, query("the weather"))
				switch waited := time.Since(began); {
				case patience < 2*time.Second && (!errors.Is(err, errLate) || waited != patience):
					t.Errorf("waited %s of %s: %+v, %v", waited, patience, got, err)
				case patience > 2*time.Second && (err != nil || got.Cached || waited != 2*time.Second):
					t.Errorf("waited %s of %s: %+v, %v", waited, patience, got, err)
				}
			})
		}
		wg.Wait()
		if b.model.times() != 1 {
			t.Errorf("%d calls", b.model.times())
		}
	})
}

func TestALateAnswerServesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, func(ctx context.Context, _ llm.Request) (llm.Answer, error) {
			time.Sleep(3 * time.Second)
			return llm.Answer{JSON: json.RawMessage(good)}, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Rewrite(ctx, query("the weather")); !errors.Is(err, errLate) {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got, err := b.Rewrite(t.Context(), query("the weather")); err != nil || !got.Cached {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestASlowModelIsNotWaitedFor has a model answer after some seconds, and then at once.
func TestASlowModelIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes time.Duration
		b := newBench(t, Config{}, func(ctx context.Context, _ llm.Request) (llm.Answer, error) {
			time.Sleep(takes)
			return llm.Answer{JSON: json.RawMessage(good)}, ctx.Err()
		})
		n := 0
		search := func(patience time.Duration) (waited time.Duration, err error) {
			n++
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			began := time.Now()
			_, err = b.Rewrite(ctx, query(fmt.Sprint("weather ", n)))
			waited = time.Since(began)
			synctest.Wait()
			return waited, err
		}
		takes = 3 * time.Second
		for range 4 {
			if waited, err := search(time.Second); !errors.Is(err, errLate) || waited != time.Second {
				t.Errorf("a model that may be fast: waited %s, %v", waited, err)
			}
		}
		for range 4 {
			if waited, err := search(time.Second); !errors.Is(err, errSlow) || waited != 0 {
				t.Errorf("a slow model: waited %s, %v", waited, err)
			}
		}
		if b.model.times() != 8 {
			t.Errorf("%d calls", b.model.times())
		}
		time.Sleep(takes)
		if waited, err := search(4 * time.Second); err != nil || waited != takes {
			t.Errorf("who has time: waited %s, %v", waited, err)
		}
		if got, err := b.Rewrite(t.Context(), query("weather 5")); err != nil || !got.Cached {
			t.Errorf("what nobody waited for: %+v, %v", got, err)
		}
		takes = time.Second / 2
		for range 4 {
			if _, err := search(time.Second); !errors.Is(err, errSlow) {
				t.Error(err)
			}
			time.Sleep(takes)
		}
		synctest.Wait()
		if waited, err := search(time.Second); err != nil || waited != takes {
			t.Errorf("a model that is fast again: waited %s, %v", waited, err)
		}
	})
}

func TestTooManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{Parallel: 2}, hangs)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for _, text := range []string{"one", "two"} {
			wg.Go(func() {
				if _, err := b.Rewrite(ctx, query(text)); !errors.Is(err, errLate) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if _, err := b.Rewrite(ctx, query("three")); !errors.Is(err, errBusy) {
			t.Errorf("the third: %v", err)
		}
		wg.Wait()
		b.drain(t)
		b.model.answer = says(good)
		if _, err := b.Rewrite(t.Context(), query("four")); !errors.Is(err, errBusy) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestRunEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, hangs)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		answer := make(chan error, 1)
		go func() {
			_, err := b.Rewrite(context.Background(), query("the weather"))
			answer <- err
		}()
		synctest.Wait()
		cancel()
		check.OK(t, <-ended)
		if err := <-answer; !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
	})
}

func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			err   error
			calls int // of three in a row
			label string
		}{
			{&llm.Error{Kind: llm.Unavailable, Err: errors.New("down")}, 1, "unavailable"},
			{&llm.Error{Kind: llm.Refused, Err: errors.New("no"), Text: "I cannot"}, 1, "refused"},
			{&llm.Error{Kind: llm.Setup, Err: errors.New("key")}, 1, "setup"},
			{&llm.Error{Kind: llm.Broken, Err: errors.New("open")}, 3, "broken"},
			{&llm.Error{Kind: llm.Exhausted, Err: errors.New("spent")}, 3, "exhausted"},
		} {
			b := newBench(t, Config{KeepFailures: 5 * time.Second}, fails(c.err))
			for range 3 {
				if _, err := b.Rewrite(t.Context(), query("the weather")); llm.KindOf(err) != llm.KindOf(c.err) || !errors.Is(err, errors.Unwrap(c.err)) {
					t.Errorf("%s: %v", c.label, err)
				}
			}
			want := map[string]float64{c.label: float64(c.calls)}
			if c.calls < 3 {
				want["failed_before"] = 2
			}
			if got := b.outcomes(t); b.model.times() != c.calls || !maps.Equal(got, want) {
				t.Errorf("%s: %d calls, counted %v, want %v", c.label, b.model.times(), got, want)
			}
			time.Sleep(5 * time.Second)
			b.model.answer = says(good)
			if got, err := b.Rewrite(t.Context(), query("the weather")); err != nil || got.Cached {
				t.Errorf("%s: back again: %+v, %v", c.label, got, err)
			}
			if kept := len(b.Failed("t")); (kept == 1) != (c.label == "refused") {
				t.Errorf("%s: %d answers are kept", c.label, kept)
			}
		}
	})
}

func TestAnIndexThatFailsIsAFailure(t *testing.T) {
	b := newBench(t, Config{}, says(good))
	b.index.err = errors.New("closed")
	if _, err := b.Rewrite(t.Context(), query("the weather")); !errors.Is(err, b.index.err) || b.model.times() != 0 {
		t.Errorf("%v after %d calls", err, b.model.times())
	}
}

func TestFailedAnswersAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{Failed: 3}, nil)
		fail := func(tenant, text, answer string) {
			t.Helper()
			b.model.answer = says(answer)
			if _, err := b.Rewrite(t.Context(), Query{Tenant: tenant, Text: text}); !errors.Is(err, ErrAnswer) {
				t.Errorf("%s: %v", text, err)
			}
		}
		queries := func(tenant string) (out []string) {
			for _, f := range b.Failed(tenant) {
				out = append(out, f.Query)
			}
			return out
		}
		fail("t", "one", `{"needs":[]}`)
		fail("t", "two", `[]`)
		fail("u", "three", `{}`)
		if got := queries("t"); !reflect.DeepEqual(got, []string{"two", "one"}) {
			t.Errorf("kept %q", got)
		}
		fail("t", "four", `{}`)
		if got := queries("t"); !reflect.DeepEqual(got, []string{"four", "two"}) {
			t.Errorf("kept %q", got)
		}
		if got := queries("u"); !reflect.DeepEqual(got, []string{"three"}) {
			t.Errorf("the other tenant has %q", got)
		}
		f := b.Failed("t")[1]
		if f.Answer != `[]` || f.Prompt != Prompt() || f.Model != "fake" || f.Reason == "" || f.Time.IsZero() {
			t.Errorf("kept %+v", f)
		}
		if got := b.Failed("nobody"); got == nil || len(got) != 0 {
			t.Errorf("nobody has %v", got)
		}
	})
}

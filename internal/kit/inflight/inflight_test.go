package inflight

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// budget has room for so many steps.
func budget(steps int64) *Budget { return New(Config{Bytes: steps * step}, prometheus.NewRegistry()) }

// open returns a Hold that has so many steps.
func open(t *testing.T, b *Budget, tenant string, steps int64) *Hold {
	t.Helper()
	h := b.Open(tenant)
	check.OK(t, h.Grow(t.Context(), small+steps*step))
	return h
}

// grow grows a Hold, and returns how that ends.
func grow(ctx context.Context, h *Hold, steps int64) <-chan error {
	end := make(chan error, 1)
	go func() { end <- h.Grow(ctx, steps*step) }()
	synctest.Wait()
	return end
}

func waits(t *testing.T, end <-chan error, what string) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-end:
		t.Errorf("%s does not wait: %v", what, err)
	default:
	}
}

func isFull(t *testing.T, err error, again bool) {
	t.Helper()
	var full *FullError
	if !errors.As(err, &full) || full.After > 0 != again {
		t.Errorf("%v; want a FullError, with a time: %v", err, again)
	}
}

func TestSmallContentIsBesideTheBudget(t *testing.T) {
	b := budget(2)
	a := open(t, b, "a", 1)
	for range 100 {
		check.OK(t, b.Open("a").Grow(t.Context(), small))
	}
	if b.Used() != step {
		t.Errorf("%d bytes are reserved", b.Used())
	}
	a.Close()
}

func TestATenantHasAsMuchAsStaysFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(12)
		var all []*Hold
		for range 6 {
			all = append(all, open(t, b, "a", 1))
		}
		seventh := grow(t.Context(), b.Open("a"), 2)
		waits(t, seventh, "more than half")
		for range 3 {
			all = append(all, open(t, b, "b", 1)) // beside a tenant with half, a quarter
		}
		fourth := grow(t.Context(), b.Open("b"), 2)
		waits(t, fourth, "more than stays free")
		for _, h := range all {
			h.Close()
		}
		check.OK(t, <-seventh)
		check.OK(t, <-fourth)
		if b.Used() != 2*step {
			t.Errorf("%d bytes are reserved", b.Used())
		}
	})
}

func TestWhatFindsNoMemoryIsRefusedWithATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(4)
		a := open(t, b, "a", 2)
		late := b.Open("a")
		start := time.Now()
		isFull(t, late.Grow(t.Context(), 2*step), true)
		if waited := time.Since(start); waited != maxWait {
			t.Errorf("it waited %v", waited)
		}
		isFull(t, late.Refused(), true)
		a.Close()
		isFull(t, late.Grow(t.Context(), 1), true) // the content has lost a part
		late.Close()
		if len(b.shares) > 0 || b.Used() != 0 {
			t.Errorf("%d bytes and %d shares are left", b.Used(), len(b.shares))
		}
	})
}

func TestWhatTheBudgetNeverAllowsIsRefusedAtOnce(t *testing.T) {
	isFull(t, budget(8).Open("a").Grow(t.Context(), small+7*step), false)
}

func TestAClaimWhoseCallerLeavesTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(4)
		a := open(t, b, "a", 2)
		ctx, leave := context.WithCancel(t.Context())
		gone, next := grow(ctx, b.Open("a"), 2), grow(t.Context(), b.Open("a"), 2)
		leave()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		waits(t, next, "a claim behind it")
		a.Close()
		check.OK(t, <-next)
		if b.Used() != step {
			t.Errorf("%d bytes are reserved", b.Used())
		}
	})
}

// Holds that each have a part of the memory and want more do not wait for each other.
func TestHoldsThatHavePartsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(32)
		start := time.Now()
		var g sync.WaitGroup
		for i := range 12 {
			tenant := []string{"a", "b"}[i%2]
			h := open(t, b, tenant, 1)
			g.Go(func() {
				defer h.Close()
				for range 7 {
					if err := h.Grow(t.Context(), step); err != nil {
						t.Error(err)
					}
				}
			})
		}
		g.Wait()
		if time.Since(start) > 0 || b.Used() != 0 || b.first != nil || len(b.shares) > 0 {
			t.Errorf("after %v %d bytes are left", time.Since(start), b.Used())
		}
	})
}

func TestContentThatHasBegunGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(16)
		all := open(t, b, "a", 6)
		first := open(t, b, "a", 1)
		begun := open(t, b, "a", 1)
		kept := grow(t.Context(), first, 4) // with its own share
		check.OK(t, <-kept)
		fresh := grow(t.Context(), b.Open("a"), 2)
		more := grow(t.Context(), begun, 1)
		waits(t, fresh, "new content")
		waits(t, more, "content that has begun")
		all.Shrink(3 * step)
		check.OK(t, <-more)
		waits(t, fresh, "new content")
		first.Close()
		check.OK(t, <-fresh)
	})
}

func TestAHoldThatIsKeptStays(t *testing.T) {
	b := budget(8)
	h := open(t, b, "a", 2)
	kept := h.Keep()
	h.Close()
	if b.Used() != 2*step {
		t.Errorf("%d bytes are reserved while it is kept", b.Used())
	}
	kept.Close()
	check.OK(t, h.Grow(t.Context(), 100*step)) // of a connection that lasts
	if h.Close(); b.Used() != 0 {
		t.Errorf("%d bytes are reserved after it", b.Used())
	}
}

func TestAReaderReservesBeforeItHandsOver(t *testing.T) {
	b := budget(100)
	h := b.Open("a")
	ctx := With(t.Context(), h)
	text := strings.Repeat(`{"a":[1,2,"x,[y"]},`, 4000)
	r := Decoded(ctx, strings.NewReader(text))
	check.Value(io.Copy(io.Discard, r))(t)
	if want := reserved(int64(len(text))*PerByte + 4*4000*PerValue); b.Used() < want-step || b.Used() > want {
		t.Errorf("%d bytes are reserved, want %d", b.Used(), want)
	}
	if r.Dropped(); b.Used() != 0 {
		t.Errorf("%d bytes are reserved for dropped content", b.Used())
	}
	big := Bytes(With(t.Context(), b.Open("b")), strings.NewReader(strings.Repeat("x", 3<<20)))
	n, err := io.Copy(io.Discard, big)
	isFull(t, err, false)
	if n > 100*step/PerByte {
		t.Errorf("%d bytes came", n)
	}
	prose := Decoded(With(t.Context(), b.Open("c")), strings.NewReader(strings.Repeat("one, two, three ", 5000)))
	if check.Value(io.Copy(io.Discard, prose))(t); prose.has != 16*5000*PerByte {
		t.Errorf("prose costs %d bytes", prose.has)
	}
}

// reserved returns what a Hold reserves for n bytes.
func reserved(n int64) int64 { return (n - small + step - 1) / step * step }

func BenchmarkGrow(b *testing.B) {
	of := New(Config{Bytes: 1 << 30}, prometheus.NewRegistry())
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h := of.Open("a")
			if err := h.Grow(b.Context(), 128<<10); err != nil {
				b.Error(err)
			}
			h.Close()
		}
	})
}

package fairqueue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// arrival is a claim that waits, has a slot, or was refused.
type arrival struct {
	slot *Slot
	err  error
}

// arrive makes a claim, which is served, queued or refused when arrive returns.
func arrive(ctx context.Context, q *Queue, c Claim) *arrival {
	a := &arrival{}
	go func() { a.slot, a.err = q.Acquire(ctx, c) }()
	synctest.Wait()
	return a
}

// release gives the slot of an arrival to the next.
func (a *arrival) release() {
	a.slot.Release()
	synctest.Wait()
}

func TestClaimsOfOneMemberAreServedInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 2, MaxWait: time.Second})
		var all []*arrival
		for range 6 {
			all = append(all, arrive(t.Context(), q, Claim{}))
		}
		for served := 2; served <= 6; served++ {
			for i, a := range all {
				if (a.slot != nil) != (i < served) {
					t.Fatalf("with %d served: claim %d: %+v", served, i, a)
				}
			}
			all[served-2].release()
		}
		if all[5].release(); q.Waiting() != 0 || q.InUse() != 0 {
			t.Errorf("%d wait, %d slots are in use", q.Waiting(), q.InUse())
		}
	})
}

func TestGroupsAndTheirMembersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1})
		last := arrive(t.Context(), q, Claim{Group: "a"})
		names := map[*arrival]string{}
		for _, who := range []string{"a/x 1", "a/x 2", "a/x 3", "a/x 4", "a/y 1", "b/z 1", "b/z 2", "a/y 2"} {
			group, member, _ := strings.Cut(who[:3], "/")
			names[arrive(t.Context(), q, Claim{Group: group, Member: member})] = who
		}
		var order []string
		for len(names) > 0 {
			last.release()
			for a, who := range names {
				if a.slot != nil {
					order, last = append(order, who), a
					delete(names, a)
				}
			}
		}
		if want := []string{"a/x 1", "b/z 1", "a/y 1", "b/z 2", "a/x 2", "a/y 2", "a/x 3", "a/x 4"}; !slices.Equal(order, want) {
			t.Errorf("%q", order)
		}
	})
}

// A group at its limit leaves slots to the others, and waits while they are free.
func TestAGroupHoldsNoMoreSlotsThanItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 4, MaxWaiting: 2})
		limited := func(group string) Claim { return Claim{Group: group, Limit: 2} }
		first, second, waits := arrive(t.Context(), q, limited("a")), arrive(t.Context(), q, limited("a")), arrive(t.Context(), q, limited("a"))
		if second.slot == nil || waits.slot != nil || !q.AtLimit(limited("a")) || q.AtLimit(limited("b")) {
			t.Fatalf("%+v, %+v", second, waits)
		}
		b, c := arrive(t.Context(), q, limited("b")), arrive(t.Context(), q, limited("c"))
		if b.slot == nil || c.slot == nil {
			t.Fatalf("%+v, %+v", b, c)
		}
		if _, ok := q.TryAcquire(limited("d")); ok {
			t.Error("a fifth slot")
		}
		next := arrive(t.Context(), q, limited("d"))
		if full := arrive(t.Context(), q, limited("e")); !errors.Is(full.err, ErrFull) {
			t.Errorf("a third claim waits: %+v", full)
		}
		if b.release(); waits.slot != nil || next.slot == nil {
			t.Fatalf("of a group at its limit %+v, of another %+v", waits, next)
		}
		if first.release(); waits.slot == nil {
			t.Fatal("a claim waits while its group may have a slot")
		}
		for _, a := range []*arrival{second, waits, c, next} {
			a.release()
		}
		if slot, ok := q.TryAcquire(limited("a")); !ok || q.InUse() != 1 || len(q.held) != 1 {
			t.Errorf("%d in use: %v", q.InUse(), q.held)
		} else {
			slot.Release()
		}
	})
}

func TestAClaimThatWouldWaitTooLongIsRefusedAtOnce(t *testing.T) {
	for _, took := range []time.Duration{2 * time.Millisecond, 50 * time.Millisecond} {
		t.Run(took.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(Config{Slots: 2, MaxWait: time.Second})
				for range 50 * meanOver { // until the mean is what they take
					a := arrive(t.Context(), q, Claim{})
					time.Sleep(took)
					a.release()
				}
				var all []*arrival
				for {
					a := arrive(t.Context(), q, Claim{})
					if a.err != nil {
						if !errors.Is(a.err, ErrFull) {
							t.Fatal(a.err)
						}
						break
					}
					all = append(all, a)
				}
				start := time.Now()
				for i := 0; i < len(all); i += 2 {
					time.Sleep(took)
					for _, a := range all[i:min(i+2, len(all))] {
						a.slot.Release()
					}
					synctest.Wait()
				}
				if last := time.Since(start) - took; last < 950*time.Millisecond || last > 1050*time.Millisecond {
					t.Errorf("%d were served, the last of them after %s", len(all), last)
				}
			})
		})
	}
}

func TestOnlyTheClaimsOfAMemberWithTooManyAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1, MaxWait: time.Second})
		q.mean = 100 * time.Millisecond
		arrive(t.Context(), q, Claim{})
		served := 0
		for arrive(t.Context(), q, Claim{Group: "a", Member: "x"}).err == nil {
			served++
		}
		if served != 10 {
			t.Errorf("%d wait", served)
		}
		for _, c := range []Claim{{Group: "a", Member: "y"}, {Group: "b", Member: "z"}} {
			if a := arrive(t.Context(), q, c); a.err != nil {
				t.Errorf("%v: %v", c, a.err)
			}
		}
		if a := arrive(t.Context(), q, Claim{Group: "a", Member: "x"}); !errors.Is(a.err, ErrFull) {
			t.Errorf("one more of the first: %v", a.err)
		}
		if q.Waiting() != 12 || len(q.groups) != 2 {
			t.Errorf("%d wait in %d groups", q.Waiting(), len(q.groups))
		}
	})
}

// A claim to be served last gets a slot that no other claim wants, and once its context has
// ended it takes no slot from the others.
func TestClaimsToBeServedLastWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1})
		first := arrive(t.Context(), q, Claim{})
		ctx, cancel := context.WithCancel(t.Context())
		left, last := arrive(ctx, q, Claim{Last: true}), arrive(t.Context(), q, Claim{Last: true})
		second := arrive(t.Context(), q, Claim{})
		if q.Waiting() != 1 {
			t.Errorf("%d wait", q.Waiting())
		}
		cancel()
		first.release()
		if second.slot == nil || last.slot != nil || !errors.Is(left.err, context.Canceled) {
			t.Fatalf("%+v, last %+v, left %+v", second, last, left)
		}
		if second.release(); last.slot == nil {
			t.Fatal("a free slot is not taken")
		}
		last.release()
		for range 32 {
			if a := arrive(ctx, q, Claim{Last: true}); !errors.Is(a.err, context.Canceled) {
				t.Fatalf("a claim whose context had ended has %+v", a)
			}
		}
		if a := arrive(t.Context(), q, Claim{Last: true}); a.slot == nil || q.InUse() != 1 {
			t.Errorf("%+v, %d slots are in use", a, q.InUse())
		}
	})
}

func TestAClaimThatIsGivenUpLetsTheNextPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1})
		first := arrive(t.Context(), q, Claim{})
		ctx, cancel := context.WithCancel(t.Context())
		left := arrive(ctx, q, Claim{})
		late, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		overdue, next := arrive(late, q, Claim{}), arrive(t.Context(), q, Claim{})
		cancel()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !errors.Is(left.err, context.Canceled) || !errors.Is(overdue.err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", left.err, overdue.err)
		}
		if first.release(); next.slot == nil || q.Waiting() != 0 {
			t.Errorf("%+v, %d wait", next, q.Waiting())
		}
	})
}

func TestAClaimThatComesBackGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1})
		first, second, third := arrive(t.Context(), q, Claim{}), arrive(t.Context(), q, Claim{}), arrive(t.Context(), q, Claim{})
		back := false
		go func() {
			first.slot.Away(func() { time.Sleep(time.Second) })
			back = third.slot == nil
			first.slot.Release()
		}()
		synctest.Wait()
		if second.slot == nil || third.slot != nil {
			t.Fatalf("%+v, %+v", second, third)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if second.release(); !back || third.slot == nil {
			t.Errorf("first is back before the third: %v; %+v", back, third)
		}
	})
}

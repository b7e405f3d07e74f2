package calls

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/lab/simulation"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// A credential is read again also for a source that is called without a pause.
func TestAConnectionInUseIsOpenedAnew(t *testing.T) {
	now, opened := simulation.NewBus(time.Now()), 0
	p := &pool{now: now.Now, entries: map[connKey]*entry{}, open: func(context.Context, connKey, source.Spec, string) (connection, error) {
		opened++
		return connection{}, nil
	}}
	acquire := func() func() {
		_, release, err := p.acquire(t.Context(), connKey{source: "shop"}, source.Spec{}, "")
		check.OK(t, err)
		return release
	}
	first := acquire()
	now.Pass(oldAfter)
	second := acquire()
	if opened != 1 {
		t.Errorf("opened %d times before it is old", opened)
	}
	now.Pass(time.Second)
	third := acquire()
	if opened != 2 {
		t.Errorf("opened %d times once it is old and in use", opened)
	}
	first()
	second()
	third()
	if p.closing.Wait(); len(p.entries) != 1 {
		t.Errorf("%d connections", len(p.entries))
	}
}

// A caller that leaves while a connection is being opened leaves it to the next caller.
func TestACallerThatLeavesDoesNotEndTheOpening(t *testing.T) {
	opening := make(chan struct{})
	p := &pool{now: time.Now, entries: map[connKey]*entry{}, open: func(ctx context.Context, _ connKey, _ source.Spec, _ string) (connection, error) {
		<-opening
		return connection{}, ctx.Err()
	}}
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := p.acquire(left, connKey{source: "shop"}, source.Spec{}, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(opening)
	_, release, err := p.acquire(t.Context(), connKey{source: "shop"}, source.Spec{}, "")
	if err != nil || len(p.entries) != 1 {
		t.Fatalf("%v, %d connections", err, len(p.entries))
	}
	release()
}

func TestAFullPoolIsNoFaultOfTheSource(t *testing.T) {
	p := &pool{now: time.Now, entries: map[connKey]*entry{}}
	for i := range maxConnections {
		p.entries[connKey{source: string(rune(i))}] = &entry{users: 1}
	}
	var e *Error
	if _, _, err := p.acquire(t.Context(), connKey{source: "new"}, source.Spec{}, ""); !errors.As(err, &e) || e.Outcome != schema.CallRefused || e.Status != http.StatusServiceUnavailable || e.RetryAfter <= 0 {
		t.Errorf("%+v", err)
	}
}

package calls

import (
	"context"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/source"
)

// A credential is read again also for a source that is called without a pause.
func TestAConnectionInUseIsOpenedAnew(t *testing.T) {
	now, opened := clock{now: time.Now()}, 0
	p := &pool{now: now.read, entries: map[connKey]*entry{}, open: func(context.Context, connKey, source.Spec, bool, string) (connection, error) {
		opened++
		return connection{}, nil
	}}
	take := func() func() {
		_, release, err := p.take(t.Context(), connKey{source: "shop"}, source.Spec{}, false, "")
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	first := take()
	now.pass(oldAfter)
	second := take()
	if opened != 1 {
		t.Errorf("opened %d times before it is old", opened)
	}
	now.pass(time.Second)
	third := take()
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

package policy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

const tenant = "acme"

// bucket holds the grants of tenants. A watch of it ends when lost is received from.
type bucket struct {
	entries []stream.Entry
	lost    chan struct{}
	away    bool
	changes chan stream.Entry
}

func newBucket() *bucket {
	return &bucket{lost: make(chan struct{}), changes: make(chan stream.Entry, 1)}
}

func (b *bucket) Follow(ctx context.Context, _ string, fn func(stream.Entry) error, current func()) error {
	if b.away {
		return errors.New("away")
	}
	for _, e := range b.entries {
		if err := fn(e); err != nil {
			return err
		}
	}
	current()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.lost:
			return io.ErrUnexpectedEOF
		case e := <-b.changes:
			if err := fn(e); err != nil {
				return err
			}
		}
	}
}

func (b *bucket) write(key string, value []byte, before uint64) (uint64, error) {
	has := uint64(len(b.entries))
	if has != before {
		return 0, stream.ErrConflict
	}
	e := stream.Entry{Key: key, Value: value, Revision: has + 1}
	b.entries = append(b.entries, e)
	b.changes <- e
	return e.Revision, nil
}

func (b *bucket) Create(_ context.Context, key string, value []byte) (uint64, error) {
	return b.write(key, value, 0)
}

func (b *bucket) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return b.write(key, value, revision)
}

func (b *bucket) MaxValue() int { return 400 }

func scopeOf(s *Store) (*Scope, error) {
	return s.Scope(identity.Caller{Tenant: tenant, Role: identity.Reader}, Find)
}

// running returns a store that follows a bucket until the test ends, in a bubble of synctest.
func running(t *testing.T, b *bucket) *Store {
	s := NewStore(b, time.Minute, quiet)
	go func() { _ = s.Run(t.Context()) }()
	synctest.Wait()
	return s
}

var quiet = slog.New(slog.DiscardHandler)

// What a replica cannot know it denies: before it has read the grants, and when the store of
// them is lost for longer than its grace.
func TestUnknownGrantsDeny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket()
		b.away = true
		s := running(t, b)
		if _, err := scopeOf(s); !errors.Is(err, ErrUnknown) {
			t.Fatalf("before the grants are read: %v", err)
		}
		b.away = false
		time.Sleep(time.Minute) // of the fake clock
		if scope, err := scopeOf(s); err != nil || scope != nil {
			t.Fatalf("without grants: %v, %v", scope, err)
		}
		b.away = true
		b.lost <- struct{}{}
		synctest.Wait()
		if _, err := scopeOf(s); err != nil {
			t.Fatalf("within the grace: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := scopeOf(s); !errors.Is(err, ErrUnknown) {
			t.Fatalf("after the grace: %v", err)
		}
		b.away, b.entries = false, []stream.Entry{{Key: KeyPrefix + tenant, Value: []byte(`[{"effect":"allow","action":"find","on":"*","to":"*"}]`), Revision: 1}}
		time.Sleep(time.Minute)
		if scope, err := scopeOf(s); err != nil || !scope.Allow.All {
			t.Fatalf("watched again: %+v, %v", scope, err)
		}
		b.entries = []stream.Entry{{Key: KeyPrefix + tenant, Value: []byte(`no grants`), Revision: 2}}
		b.lost <- struct{}{}
		time.Sleep(time.Minute)
		if _, err := scopeOf(s); !errors.Is(err, ErrUnknown) {
			t.Fatalf("with grants that cannot be read: %v", err)
		}
		b.entries = nil
		b.lost <- struct{}{}
		time.Sleep(time.Minute)
		if scope, err := scopeOf(s); err != nil || scope != nil {
			t.Fatalf("with grants gone while the store was lost: %v, %v", scope, err)
		}
	})
}

// A replica learns that a tenant was erased after it has read the grants that the tenant has
// made since: those go on to deny.
func TestErasingATenantKeepsItsLaterGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket()
		b.entries = []stream.Entry{{Key: KeyPrefix + tenant, Value: []byte(`[{"effect":"allow","action":"find","on":"tag:a","to":"*"}]`), Revision: 7}}
		s := running(t, b)
		s.Erase(tenant, 6)
		if scope, err := scopeOf(s); err != nil || scope == nil {
			t.Fatalf("with grants behind those that were erased: %v, %v", scope, err)
		}
		s.Erase(tenant, 8)
		if scope, err := scopeOf(s); err != nil || scope != nil {
			t.Fatalf("without grants: %v, %v", scope, err)
		}
	})
}

func TestAChangeNamesWhatItReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := running(t, newBucket())
		grants := []Grant{{Effect: Allow, Action: Find, On: "tag:a", To: "*"}}
		p, err := s.Replace(t.Context(), tenant, grants, noGrants)
		if err != nil || len(p.Grants) != 1 {
			t.Fatalf("%+v, %v", p, err)
		}
		if scope, err := scopeOf(s); err != nil || scope == nil {
			t.Fatalf("the change is not in force when it is answered: %v", err)
		}
		if _, err := s.Replace(t.Context(), tenant, grants, noGrants); !errors.Is(err, ErrChanged) {
			t.Errorf("a change of an old version: %v", err)
		}
		var invalid *schema.Invalid
		if _, err := s.Replace(t.Context(), tenant, grants, "new"); !errors.As(err, &invalid) {
			t.Errorf("a version that is none: %v", err)
		}
		for range 10 {
			grants = append(grants, Grant{Effect: Allow, Action: Find, On: "tag:" + string(rune('b'+len(grants))), To: "*"})
		}
		if _, err := s.Replace(t.Context(), tenant, grants, p.Version); !errors.As(err, &invalid) {
			t.Errorf("more than the store takes: %v", err)
		}
	})
}

func TestAFileOfGrants(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		t.Helper()
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	if _, err := OpenFile(path, quiet); err == nil {
		t.Error("a file that is not there")
	}
	write("acme:\n  - {effect: allow, action: find, on: 'tag:a', to: '*'}\n")
	s := check.Value(OpenFile(path, quiet))(t)
	if scope, err := scopeOf(s); err != nil || scope == nil {
		t.Fatalf("%v, %v", scope, err)
	}
	if scope, err := s.Scope(identity.Caller{Tenant: "other"}, Find); err != nil || scope != nil {
		t.Errorf("a tenant that the file does not name: %v, %v", scope, err)
	}
	if _, err := s.Replace(t.Context(), tenant, nil, "0"); !errors.Is(err, ErrFile) {
		t.Errorf("a change by a call: %v", err)
	}
	for _, bad := range []string{"acme: [", "acme:\n  - {effect: allow, action: find, upon: '*', to: '*'}\n", "", "# none\n", "other: []\n---\nacme: []\n", "acme:\n  - {effect: allow, action: fly, on: '*', to: '*'} # longer\n"} {
		write(bad)
		for range 2 {
			if _, err := scopeOf(s); !errors.Is(err, ErrUnknown) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	write("{}")
	if scope, err := scopeOf(s); err != nil || scope != nil {
		t.Errorf("without grants: %v, %v", scope, err)
	}
}

package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/pkg/schema"
)

// KeyPrefix begins the keys of grants in the bucket.
const KeyPrefix = "policy."

// Errors of reading and replacing a policy.
var (
	ErrUnknown = errors.New("the grants cannot be read, so that nothing is shown")
	ErrChanged = errors.New("the grants were changed meanwhile: read them again")
)

// Bucket holds the grants of all tenants.
type Bucket interface {
	// Follow calls fn with the existing values, then current, then fn with each change.
	Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error
	Create(ctx context.Context, key string, value []byte) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	MaxValue() int
}

// Store caches the grants of all tenants from the bucket. It denies everything while the grants
// of a tenant are unknown. Its methods may be called concurrently.
type Store struct {
	file   *file // nil: the bucket has the grants
	bucket Bucket
	grace  time.Duration
	log    *slog.Logger
	now    func() time.Time
	scopes *cache

	mu       sync.RWMutex
	policies map[string]*Policy // by tenant; nil if the bucket holds an unreadable value
	current  bool               // the bucket is watched, and all its values have arrived
	until    time.Time          // when cached policies expire while the bucket is unreachable
	wakened  chan struct{}      // closed when something is learned
}

// NewStore returns a store that stays empty until Run. While the bucket is unreachable, cached
// policies stay valid for grace.
func NewStore(bucket Bucket, grace time.Duration, log *slog.Logger) *Store {
	return &Store{bucket: bucket, grace: grace, log: log, now: time.Now, scopes: newCache(), policies: map[string]*Policy{}, wakened: make(chan struct{})}
}

// Run follows the bucket, if there is one, until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	if s.file != nil {
		<-ctx.Done()
		return nil
	}
	var watching lifecycle.Health
	stream.FollowAgain(ctx, s.follow, KeyPrefix, s.learn, func(err error) {
		if err != nil {
			s.lose()
		}
		watching.LogChange(ctx, s.log, err, "the store of grants is lost: without it nothing can be shown after a while", "the store of grants is watched again", "after", s.grace)
	})
	return nil
}

// follow reads the whole bucket again: keys may have been deleted meanwhile.
func (s *Store) follow(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	fresh := map[string]bool{}
	all := false
	return s.bucket.Follow(ctx, prefix, func(e stream.Entry) error {
		if !all {
			fresh[strings.TrimPrefix(e.Key, KeyPrefix)] = true
		}
		return fn(e)
	}, func() {
		all = true
		s.complete(fresh)
	})
}

// learn adopts an entry of the bucket.
func (s *Store) learn(e stream.Entry) error {
	tenant := strings.TrimPrefix(e.Key, KeyPrefix)
	p, err := decode(e)
	if err != nil {
		s.log.Error("the grants of a tenant cannot be read: nothing is shown to it", "tenant", tenant, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p == nil && err == nil {
		delete(s.policies, tenant)
	} else {
		s.policies[tenant] = p
	}
	s.wake()
	return nil
}

// Erase forgets the grants of a tenant that the bucket had before a revision. Later grants
// stay: without them everything of the tenant would be visible.
func (s *Store) Erase(tenant string, before uint64) {
	s.scopes.erase(tenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.policies[tenant]; p != nil && s.file == nil && p.revision() < before {
		delete(s.policies, tenant)
	}
}

// decode returns the policy of an entry, nil if the entry was deleted.
func decode(e stream.Entry) (*Policy, error) {
	if e.Value == nil {
		return nil, nil
	}
	var grants []Grant
	if err := json.Unmarshal(e.Value, &grants); err != nil {
		return nil, err
	}
	p, err := New(strconv.FormatUint(e.Revision, 10), grants)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// revision returns the revision of a policy in the bucket.
func (p *Policy) revision() uint64 {
	n, _ := strconv.ParseUint(p.Version, 10, 64) // decode has formatted it
	return n
}

// complete removes the policies of all tenants that are not in fresh.
func (s *Store) complete(fresh map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for tenant := range s.policies {
		if !fresh[tenant] {
			delete(s.policies, tenant)
		}
	}
	s.current = true
	s.wake()
}

// lose notes that changes are not heard of any more.
func (s *Store) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current {
		s.current, s.until = false, s.now().Add(s.grace)
	}
}

// wake wakes everyone that waits for a change. It is called under the lock.
func (s *Store) wake() {
	close(s.wakened)
	s.wakened = make(chan struct{})
}

// Of returns the policy of a tenant, which is not to be changed, or ErrUnknown.
func (s *Store) Of(tenant string) (*Policy, error) {
	if s.file != nil {
		return s.file.of(tenant)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.current && !s.now().Before(s.until) {
		return nil, ErrUnknown
	}
	p, there := s.policies[tenant]
	switch {
	case !there:
		return &Policy{Version: noGrants}, nil
	case p == nil:
		return nil, ErrUnknown
	}
	return p, nil
}

// noGrants is the version of a tenant that never had any.
const noGrants = "0"

// Ready returns nil once grants are known, or ErrUnknown.
func (s *Store) Ready() error {
	_, err := s.Of("")
	return err
}

// Scope returns the tools that a caller may use for an action, not to be changed, or ErrUnknown. A nil Store belongs to
// a server without authentication, which allows every caller every action.
func (s *Store) Scope(c identity.Caller, a Action) (*Scope, error) {
	if s == nil {
		return nil, nil
	}
	p, err := s.Of(c.Tenant)
	if err != nil {
		return nil, err
	}
	return s.scopes.scope(p, c, a), nil
}

// Replace replaces the grants of a tenant if its policy still has the given version. It returns
// the policy that is now in force, here too. The error is a *schema.Invalid for grants that are
// not acceptable, or ErrChanged.
func (s *Store) Replace(ctx context.Context, tenant string, grants []Grant, version string) (*Policy, error) {
	if s.file != nil {
		return nil, ErrFile
	}
	grants, err := normalizeAll(grants)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(grants)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	if most := s.bucket.MaxValue(); len(value) > most {
		return nil, &schema.Invalid{Path: "/grants", Reason: fmt.Sprintf("are %d bytes, and the store takes %d at most: name providers, sources or tags in place of tools", len(value), most)}
	}
	before, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return nil, &schema.Invalid{Path: "/version", Reason: "must be the version of the grants that the change is of"}
	}
	var revision uint64
	if before == 0 {
		revision, err = s.bucket.Create(ctx, KeyPrefix+tenant, value)
	} else {
		revision, err = s.bucket.Update(ctx, KeyPrefix+tenant, value, before)
	}
	if errors.Is(err, stream.ErrConflict) {
		return nil, ErrChanged
	}
	if err != nil {
		return nil, err
	}
	return s.await(ctx, tenant, revision)
}

// await returns the policy of a tenant once it is at least of a revision.
func (s *Store) await(ctx context.Context, tenant string, revision uint64) (*Policy, error) {
	for {
		s.mu.RLock()
		p, wakened := s.policies[tenant], s.wakened
		s.mu.RUnlock()
		if p != nil && p.revision() >= revision {
			return p, nil
		}
		select {
		case <-wakened:
		case <-ctx.Done():
			return nil, fmt.Errorf("policy: the change is stored, and was not heard of here: %w", ctx.Err())
		}
	}
}

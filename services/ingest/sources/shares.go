package sources

import (
	"context"
	"hash/fnv"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// shards is how many parts sources are divided into. A part is looked at by one process.
const shards = 16

// shardOf returns the part that a source is in.
func shardOf(i id) int {
	h := fnv.New32a()
	h.Write([]byte(i.String()))
	return int(h.Sum32() % shards)
}

// A process that is silent for shareTTL loses its parts: others see it gone, and then its
// leases run out, so that they are taken over within two and a half times of that.
const (
	shareTTL   = 8 * time.Second
	shareTick  = 2 * time.Second
	memberKeys = "member."
	leaseKeys  = "lease."
)

// Members is a store whose keys vanish by themselves after MemberTTL.
type Members interface {
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Keys(ctx context.Context, prefix string) ([]string, error)
	Delete(ctx context.Context, key string) error
}

// MemberTTL is after what time a key of Members is to vanish.
const MemberTTL = shareTTL

// Shares divides sources among processes: each part goes to the process that it ranks
// highest (Thaler and Ravishankar 1998), so that a process that comes or goes moves its
// own share alone. A lease makes sure that no two have the same part.
type Shares struct {
	Name    string // of this process, the same after a restart: letters, digits, - and _
	Members Members
	Leases  stream.LeaseStore
	Logger  *slog.Logger

	mu      sync.Mutex // guards what follows
	present []string
	moved   chan struct{} // closed, and replaced, when present changes
}

// run takes and leaves parts until ctx ends.
func (s *Shares) run(ctx context.Context, take, leave func(shard int)) {
	s.present, s.moved = []string{s.Name}, make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() { s.attend(ctx) })
	for shard := range shards {
		g.Go(func() { s.share(ctx, shard, take, leave) })
	}
	g.Wait()
}

// attend shows the others that this process is there, and looks for them.
func (s *Shares) attend(ctx context.Context) {
	tick := time.NewTicker(shareTick)
	defer tick.Stop()
	for {
		if _, err := s.Members.Put(ctx, memberKeys+s.Name, nil); err == nil {
			if keys, err := s.Members.Keys(ctx, memberKeys); err == nil {
				s.see(keys)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), shareTick)
			_ = s.Members.Delete(bye, memberKeys+s.Name) // it vanishes by itself, too
			cancel()
			return
		}
	}
}

func (s *Shares) see(keys []string) {
	present := []string{s.Name}
	for _, key := range keys {
		if name := strings.TrimPrefix(key, memberKeys); name != s.Name {
			present = append(present, name)
		}
	}
	slices.Sort(present)
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(present, s.present) {
		return
	}
	s.present = present
	close(s.moved)
	s.moved = make(chan struct{})
}

// mine reports whether a part is this process's, and returns a channel that is closed when
// that may change.
func (s *Shares) mine(shard int) (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.MaxFunc(s.present, func(a, b string) int {
		return strings.Compare(rank(a, shard), rank(b, shard))
	}) == s.Name, s.moved
}

// rank is a text that orders processes differently for each part.
func rank(name string, shard int) string {
	h := fnv.New128a()
	h.Write([]byte(strconv.Itoa(shard) + "/" + name + "/" + strconv.Itoa(shard)))
	return string(h.Sum(nil)) + name
}

// share holds a part whenever it is this process's, until ctx ends.
func (s *Shares) share(ctx context.Context, shard int, take, leave func(int)) {
	for ctx.Err() == nil {
		mine, moved := s.mine(shard)
		if !mine {
			select {
			case <-moved:
			case <-ctx.Done():
			}
			continue
		}
		turn, stop := context.WithCancel(ctx)
		go s.yield(turn, shard, stop)
		l := stream.NewLease(leaseKeys+strconv.Itoa(shard), s.Name, s.Leases, s.Logger)
		l.TTL = shareTTL
		err := l.Run(turn, func(ctx context.Context) error {
			take(shard)
			defer leave(shard)
			<-ctx.Done()
			return nil
		})
		stop()
		if err != nil {
			s.Logger.Warn("sources: a share was lost", "share", shard, "error", err)
		}
	}
}

// yield calls stop once this process loses a part, or ctx ends.
func (s *Shares) yield(ctx context.Context, shard int, stop func()) {
	defer stop()
	for mine := true; mine; {
		var moved <-chan struct{}
		if mine, moved = s.mine(shard); !mine {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

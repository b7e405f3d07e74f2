package sources

import (
	"context"
	"sync"
)

// scheduler starts and stops the workers of the sources whose shards this process holds. Its
// methods may be called concurrently.
type scheduler struct {
	dir  *directory
	deps workerDeps

	mu      sync.Mutex // guards what follows; taken before the lock of the directory
	shards  map[int]bool
	erasing map[string]bool // tenants
	workers map[id]*worker
	running context.Context // of workers
	started bool            // the store was read
}

// start starts the workers once the whole store was read: a source must not be looked at
// without its last status.
func (s *scheduler) start() {
	s.mu.Lock()
	s.started = true
	s.mu.Unlock()
	s.reconcileAll(func(id) bool { return true })
}

// acquire starts the workers of a shard.
func (s *scheduler) acquire(shard int) {
	s.mu.Lock()
	s.shards[shard] = true
	s.mu.Unlock()
	s.reconcileAll(func(i id) bool { return shardOf(i) == shard })
}

// release stops the workers of a shard, and returns once they have ended.
func (s *scheduler) release(shard int) {
	s.mu.Lock()
	delete(s.shards, shard)
	ended := s.stopAll(func(i id) bool { return shardOf(i) == shard })
	s.mu.Unlock()
	for _, w := range ended {
		<-w.done
	}
}

func (s *scheduler) reconcileAll(match func(id) bool) {
	for i := range s.dir.matching(func(i id, _ *record) bool { return match(i) }) {
		s.reconcile(i)
	}
}

// reconcile starts, updates or stops the worker of a source.
func (s *scheduler) reconcile(i id) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reconcileLocked(i)
}

func (s *scheduler) reconcileLocked(i id) {
	rec, status := s.dir.stored(i)
	switch w := s.workers[i]; {
	case rec == nil || s.erasing[i.tenant] || !s.shards[shardOf(i)] || !s.started || s.running.Err() != nil:
		s.stop(i)
	case w == nil:
		ctx, cancel := context.WithCancel(s.running)
		w = newWorker(s.deps, i, rec, status, cancel)
		s.workers[i] = w
		s.dir.setWorker(i, w)
		go func() {
			w.run(ctx)
			s.ended(w)
		}()
	default:
		w.update(rec)
	}
}

// stop ends a worker. It is called with mu held.
func (s *scheduler) stop(i id) {
	if w := s.workers[i]; w != nil {
		w.cancel()
		delete(s.workers, i)
		s.dir.setWorker(i, nil)
	}
}

// stopAll ends the workers that match and returns them. It is called with mu held.
func (s *scheduler) stopAll(match func(id) bool) (ended []*worker) {
	for i, w := range s.workers {
		if match(i) {
			ended = append(ended, w)
			s.stop(i)
		}
	}
	return ended
}

// ended cleans up after a worker that has ended by itself, or was stopped. Its source may have
// been removed and added again meanwhile.
func (s *scheduler) ended(w *worker) {
	close(w.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers[w.id] != w {
		return
	}
	s.stop(w.id)
	if rec, _ := s.dir.stored(w.id); rec != nil && !rec.Removed {
		s.reconcileLocked(w.id)
	}
}

// erase stops the workers of a tenant, and returns once they have ended. While the tenant is
// being erased, none is started.
func (s *scheduler) erase(ctx context.Context, tenant string, erasing bool) error {
	var ended []*worker
	s.mu.Lock()
	if erasing {
		s.erasing[tenant] = true
		ended = s.stopAll(func(i id) bool { return i.tenant == tenant })
	} else {
		delete(s.erasing, tenant)
		s.dir.forget(tenant)
	}
	s.mu.Unlock()
	for _, w := range ended {
		select {
		case <-w.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

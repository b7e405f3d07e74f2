package reindex

import (
	"maps"
	"slices"
	"sync"

	"github.com/toolstream/toolstream/services/query/search"
)

// instances are the index versions at work in this process. The methods may be called
// concurrently.
type instances struct {
	mu       sync.Mutex // guards what follows
	byNumber map[int]*Instance
	live     *Instance // searches use it; without searches, queries are embedded for it
	problems map[int]string
	progress map[int]progress
}

func newInstances() *instances {
	return &instances{byNumber: map[int]*Instance{}, problems: map[int]string{}, progress: map[int]progress{}}
}

// get returns an instance, nil if the version is not at work, and the live instance.
func (s *instances) get(number int) (in, live *Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byNumber[number], s.live
}

// all returns the instances, and the live one, which may be nil.
func (s *instances) all() (list []*Instance, live *Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byNumber)), s.live
}

func (s *instances) add(in *Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byNumber[in.Number] = in
}

func (s *instances) remove(in *Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byNumber, in.Number)
	delete(s.progress, in.Number)
}

// setLive makes an instance the live one, and returns the one before.
func (s *instances) setLive(in *Instance) (before *Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.live = s.live, in
	delete(s.progress, in.Number)
	return before
}

// setProblem records why a version is not at work; a nil error ends that.
func (s *instances) setProblem(number int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.problems[number] = err.Error()
	} else {
		delete(s.problems, number)
	}
}

// hasProblem reports whether a version cannot work.
func (s *instances) hasProblem(number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems[number] != ""
}

// setProgress records the progress of a version. It sets the positions that Weaviate must reach
// once, when the version is near completion for the first time.
func (s *instances) setProgress(number int, p progress, near bool, positions map[int]uint64) progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.weaviate = s.progress[number].weaviate
	if near && p.weaviate == nil {
		p.weaviate = positions
	}
	s.progress[number] = p
	return p
}

// use returns the snapshot of a version, and keeps it open until release is called.
func (s *instances) use(number int) (_ search.Snapshot, release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.byNumber[number]
	if in == nil || in.Index == nil || !in.users.TryRLock() {
		return search.Snapshot{}, nil, false
	}
	return in.Snapshot, in.users.RUnlock, true
}

// report describes the versions of a plan, and the live version if the plan has given it up.
func (s *instances) report(plan Plan) Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{Target: plan.Target, Versions: []State{}}
	versions, entities := plan.Versions, s.live.entities()
	if s.live != nil {
		r.Live = s.live.Number
		if !plan.Has(s.live.Number) { // retired, but searched until the target is complete
			versions = append([]Version{s.live.Version}, versions...)
		}
	}
	for _, v := range versions {
		state := State{
			Version: v, State: StatePrevious, Entities: entities, There: min(s.byNumber[v.Number].entities(), entities),
			Stage: stageOf(v.Number), Problem: s.problems[v.Number],
		}
		switch {
		case s.live != nil && v.Number == s.live.Number:
			state.State = StateLive
		case v.Number == plan.Target:
			p := s.progress[v.Number]
			state.State, state.Lag, state.Dead = StateBuilding, p.lag, p.dead
		}
		r.Versions = append(r.Versions, state)
	}
	return r
}

// halt ends the work of all instances. A service that ends may still ask for the live
// instance, so halt waits without the lock.
func (s *instances) halt() {
	list, _ := s.all()
	for _, in := range list {
		in.halt()
	}
}

package status

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Process is one of those that run apart.
type Process struct {
	Services []string  `json:"services" doc:"What it serves."`
	Address  string    `json:"address,omitempty" doc:"Where it answers HTTP."`
	Version  string    `json:"version"`
	Started  time.Time `json:"started" doc:"When it started."`
	Ready    bool      `json:"ready" doc:"Whether it does its work."`
	Problem  string    `json:"problem,omitempty" doc:"Why it is not ready."`
	Weights  string    `json:"weights,omitempty" doc:"Version that it ranks the tenant's searches by; absent where nothing is searched."`
	Epoch    uint64    `json:"epoch,omitempty" doc:"Of these weights."`

	Live         int    `json:"live,omitempty" doc:"Number of the index version that it searches; absent where nothing is searched."`
	Target       int    `json:"target,omitempty" doc:"Number of the index version that searches are to use, as it knows the plan."`
	IndexProblem string `json:"index_problem,omitempty" doc:"Why it cannot work for the target."`
}

// PeerTimeout is how long a process waits for one more answer of the others.
const PeerTimeout = 150 * time.Millisecond

// AskReady fills in whether the process is ready, in time for an answer to the others.
func (p *Process) AskReady(ready func() error) {
	ctx, cancel := context.WithTimeout(context.Background(), PeerTimeout/2)
	defer cancel()
	err := answered(ctx, ready)
	if ctx.Err() != nil {
		err = errors.New("its dependencies do not answer at once")
	}
	if err != nil {
		p.Problem = err.Error()
	}
	p.Ready = err == nil
}

// Processes decodes the answers of processes and sorts them. It leaves out what is no
// answer.
func Processes(answers [][]byte) []Process {
	var out []Process
	for _, raw := range answers {
		var p Process
		if json.Unmarshal(raw, &p) == nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Process) int {
		return cmp.Or(slices.Compare(a.Services, b.Services), cmp.Compare(a.Address, b.Address))
	})
	return out
}

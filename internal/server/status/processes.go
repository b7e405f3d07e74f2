package status

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Process is a process of a distributed deployment.
type Process struct {
	Services []string  `json:"services" doc:"Services that the process runs."`
	Address  string    `json:"address,omitempty" doc:"Address of its HTTP API."`
	Version  string    `json:"version"`
	Started  time.Time `json:"started" doc:"When the process started."`
	Ready    bool      `json:"ready" doc:"Whether the process is ready."`
	Problem  string    `json:"problem,omitempty" doc:"Why the process is not ready."`
	Weights  string    `json:"weights,omitempty" doc:"Version of the weights for the tenant's searches; absent in a process that does not search."`
	Epoch    uint64    `json:"epoch,omitempty" doc:"Epoch of these weights."`

	Live         int    `json:"live,omitempty" doc:"Number of the index version that the process searches; absent if it does not search."`
	Target       int    `json:"target,omitempty" doc:"Number of the index version that searches shall use, in the plan that the process knows."`
	IndexProblem string `json:"index_problem,omitempty" doc:"Why the process cannot use the target."`
}

// PeerTimeout is how long a process waits for one more answer from its peers.
const PeerTimeout = 150 * time.Millisecond

// AskReady sets whether the process is ready, in time for an answer to its peers.
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

// Processes decodes the answers of processes and sorts them. It skips malformed answers.
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

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
)

// processSubject is where all processes that are on NATS say how they are. The
// question is the name of the tenant that asks.
const processSubject = "processes"

// glance is how long a process looks at itself before it answers. Whoever asks
// waits no longer than rollPatience for one more answer.
const glance = rollPatience / 2

// Process is one of those that run apart.
type Process struct {
	Services []string  `json:"services"`
	Address  string    `json:"address,omitempty" doc:"Where it answers HTTP."`
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Ready    bool      `json:"ready"`
	Problem  string    `json:"problem,omitempty" doc:"Why it is not ready."`
	Weights  string    `json:"weights,omitempty" doc:"Version that it ranks the tenant's searches by; absent where nothing is searched."`
	Epoch    uint64    `json:"epoch,omitempty" doc:"Of these weights."`
}

// answerRoll lets the process answer for itself, and ask the others.
func (s *Served) answerRoll() error {
	roll, err := natsadapter.NewRoll(s.conn, s.nats.subject(processSubject), func(asked []byte) []byte {
		raw, _ := json.Marshal(s.process(string(asked))) // texts and numbers always encode
		return raw
	})
	if err != nil {
		return err
	}
	s.others = func(ctx context.Context, tenant string) []Process {
		answers, err := roll.Call(ctx, []byte(tenant), rollPatience)
		if err != nil {
			return nil // NATS is away, which the status says
		}
		return processes(answers)
	}
	s.early = append(s.early, part{"processes asked for", roll.Run})
	return nil
}

// processes puts answers in order; what is no answer is left out.
func processes(answers [][]byte) []Process {
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

// process is what the process says of itself.
func (s *Served) process(tenant string) Process {
	p := Process{Services: s.names, Address: s.URL(), Version: s.version, Started: s.started}
	ctx, cancel := context.WithTimeout(context.Background(), glance)
	defer cancel()
	if err := within(ctx, s.whyNotReady); err != nil {
		p.Problem = err.Error()
		if ctx.Err() != nil {
			p.Problem = errSlow.Error()
		}
	}
	p.Ready = p.Problem == ""
	if s.fleet != nil && s.fleet.query != nil {
		p.Weights, p.Epoch = s.fleet.query.WeightsVersion(tenant), s.fleet.query.WeightsEpoch(tenant)
	}
	return p
}

var errSlow = errors.New("what it needs does not answer at once")

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/generations"
)

// rollSubject is where all processes that search or embed say how far they are.
const rollSubject = "generations"

// rollPatience is how long is waited for one more of them.
const rollPatience = 150 * time.Millisecond

// callRoll lets the process answer for itself, and ask the others.
func (s *Served) callRoll() error {
	roll, err := natsadapter.NewRoll(s.conn, s.nats.subject(rollSubject), func([]byte) []byte {
		raw, _ := json.Marshal(s.replica()) // texts and numbers always encode
		return raw
	})
	if err != nil {
		return err
	}
	s.fleet.others = func(ctx context.Context) []generations.Replica {
		answers, err := roll.Call(ctx, nil, rollPatience)
		if err != nil {
			return nil // NATS is away: this process answers for itself alone
		}
		var out []generations.Replica
		for _, raw := range answers {
			var r generations.Replica
			if json.Unmarshal(raw, &r) == nil {
				out = append(out, r)
			}
		}
		slices.SortFunc(out, func(a, b generations.Replica) int {
			return cmp.Or(slices.Compare(a.Services, b.Services), cmp.Compare(a.Address, b.Address))
		})
		return out
	}
	s.parts = append(s.parts, part{"generations asked for", roll.Run})
	return nil
}

// replica is what the process says of itself.
func (s *Served) replica() generations.Replica {
	r := s.fleet.report()
	out := generations.Replica{Services: s.names, Address: s.URL(), Target: r.Target}
	if s.fleet.searches {
		out.Live = r.Live
	}
	for _, g := range r.Generations {
		if g.Number == r.Target {
			out.Problem = g.Problem
		}
	}
	return out
}

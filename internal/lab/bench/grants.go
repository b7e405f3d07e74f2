package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/access/tokenfile"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The number of grants in the tenant, and the number that reach the measured caller.
const (
	grants    = 1000
	ownGrants = 50
)

// planner is a caller whom grants reach.
var planner = identity.Caller{Tenant: identity.DefaultTenant, Subject: "planner", Role: identity.Reader}

// protect makes a token and an empty file of grants, and returns their settings.
func (r *run) protect() (map[string]any, error) {
	token, secret, err := tokenfile.Create(identity.Anybody, time.Time{})
	if err != nil {
		return nil, err
	}
	tokens := filepath.Join(r.opt.Dir, "tokens")
	if err := tokenfile.Add(tokens, token); err != nil {
		return nil, err
	}
	r.token = secret
	return map[string]any{"auth.tokens_file": tokens, "auth.policy_file": r.policyFile()}, r.grant(nil)
}

func (r *run) policyFile() string { return filepath.Join(r.opt.Dir, "policy.yaml") }

// grant replaces all grants.
func (r *run) grant(lines []string) error {
	var b bytes.Buffer
	if len(lines) == 0 {
		b.WriteString("{}\n")
	}
	for i, line := range lines {
		if i == 0 {
			fmt.Fprintf(&b, "%s:\n", identity.DefaultTenant)
		}
		fmt.Fprintf(&b, "  - %s\n", line)
	}
	return os.WriteFile(r.policyFile(), b.Bytes(), 0o600)
}

// withGrants compares searches in the scope of grants with the same searches without grants,
// in turns.
func (r *run) withGrants(ctx context.Context, queries []string) error {
	others := make([]string, grants-ownGrants)
	for i := range others {
		others[i] = fmt.Sprintf(`{effect: allow, action: find, on: "provider:provider %d", to: "subject:other %d"}`, i, i)
	}
	few := slices.Clone(others)
	most := append(slices.Clone(others), `{effect: allow, action: find, on: "*", to: "subject:planner"}`)
	for i := range ownGrants {
		few = append(few, fmt.Sprintf(`{effect: allow, action: find, on: "provider:provider %d", to: "subject:planner"}`, i))
		if i > 0 {
			most = append(most, fmt.Sprintf(`{effect: deny, action: find, on: "provider:provider %d", to: "subject:planner"}`, i))
		}
	}
	for _, of := range []struct {
		name  string
		lines []string
	}{{"search with 50 grants for few tools, median", few}, {"search with 50 grants for most tools, median", most}} {
		scoped, free, err := r.inTurns(ctx, queries, of.lines)
		if err != nil {
			return err
		}
		r.compare(of.name, at(scoped, 0.5), "ms", at(free, 0.5), "the same without grants")
	}
	return r.grant(nil)
}

// inTurns searches a part of the queries with grants, then the same part without, then the
// next part. It returns the times, shortest first.
func (r *run) inTurns(ctx context.Context, queries, lines []string) (scoped, free []time.Duration, err error) {
	for some := range slices.Chunk(queries, max(1, len(queries)/10)) {
		for _, with := range [][]string{lines, nil} {
			if err := r.grant(with); err != nil {
				return nil, nil, err
			}
			if _, err := r.embedded.SearchAs(ctx, planner, schema.SearchRequest{Query: some[0], K: 10}); err != nil { // the first one reads the file
				return nil, nil, err
			}
			took, err := r.latencies(ctx, some)
			if err != nil {
				return nil, nil, err
			}
			if with == nil {
				free = append(free, took...)
			} else {
				scoped = append(scoped, took...)
			}
		}
	}
	slices.Sort(scoped)
	slices.Sort(free)
	return scoped, free, nil
}

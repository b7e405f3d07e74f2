package e2e

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
	"github.com/toolstream/toolstream/pkg/client"
)

// BenchmarkPolicyChange changes the grants of a tenant, and reports how long it takes until
// the last query replica obeys.
func BenchmarkPolicyChange(b *testing.B) {
	tokens := filepath.Join(b.TempDir(), "tokens")
	secret := tokentest.Add(b, tokens, identity.Caller{Tenant: "acme", Role: identity.Admin}, time.Time{})
	d := process.ServeIn(b, &cluster, binary(), []string{"TOOLSTREAM_AUTH_TOKENS_FILE=" + tokens})
	owner := d.Front().Client
	owner.Token = secret
	if err := owner.Put(b.Context(), "/v1/tools/boat?provider=p", map[string]any{"name": "boat", "description": "Crosses the strait."}, nil); err != nil {
		b.Fatal(err)
	}
	shows := func(c client.Client) bool {
		c.Token = secret
		return c.Get(b.Context(), "/v1/tools/boat", nil, nil) == nil
	}
	await := func(shown bool) {
		for _, p := range d.Fronts() {
			if err := process.Until(b.Context(), func() (bool, error) { return shows(p.Client) == shown, nil }); err != nil {
				b.Fatal(err)
			}
		}
	}
	await(true)
	version := "0"
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		shown := n%2 == 1
		on := "tag:none"
		if shown {
			on = "*"
		}
		var out policy.Replaced
		begin := time.Now()
		body := policy.Policy{Version: version, Grants: []policy.Grant{{Effect: policy.Allow, Action: policy.Find, On: on, To: "*"}}}
		if err := owner.Put(b.Context(), "/v1/grants", body, &out); err != nil {
			b.Fatal(err)
		}
		await(shown)
		took, version = append(took, time.Since(begin)), out.Version
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "ms-p99")
}

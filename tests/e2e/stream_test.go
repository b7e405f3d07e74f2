package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
	"github.com/toolstream/toolstream/pkg/client"
)

// What changes is told at any address of a deployment, also at that of a service which passes
// the stream on, until the token is revoked.
func TestDeploymentTellsWhatChanges(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, env string) process.Deployment{
		"embedded": func(t *testing.T, env string) process.Deployment { return process.Up(t, process.Binary(), env) },
		"distributed": func(t *testing.T, env string) process.Deployment {
			return process.ServeIn(t, &cluster, process.Binary(), []string{env})
		},
	} {
		t.Run(name, func(t *testing.T) {
			tokens := filepath.Join(t.TempDir(), "tokens")
			secret := tokentest.Add(t, tokens, identity.Caller{Tenant: identity.DefaultTenant, Role: identity.Admin}, time.Time{})
			c := open(t, "TOOLSTREAM_AUTH_TOKENS_FILE="+tokens).Front().Client
			c.Token = secret
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			heard := map[string]bool{}
			var sample status.Sample
			err := c.Watch(ctx, func(e client.Event) error {
				if len(heard) == 0 {
					if err := c.Put(ctx, "/v1/tools/tides", map[string]any{"name": "tides", "description": "Tells when the tide is low."}, nil); err != nil {
						return err
					}
				}
				heard[e.Name] = true
				if e.Name == "sample" {
					if err := json.Unmarshal(e.Data, &sample); err != nil {
						return err
					}
				}
				if len(heard) == 6 && sample.Tools == 1 && sample.Accepted != nil && sample.Indexed != nil && sample.Lag != nil {
					return os.WriteFile(tokens, nil, 0o600)
				}
				return nil
			})
			if err != nil {
				t.Fatalf("heard %v, the last sample %+v: %v", heard, sample, err)
			}
			var refused *client.Problem
			if err := c.Watch(ctx, func(client.Event) error { return nil }); !errors.As(err, &refused) || refused.Status != 401 {
				t.Errorf("a revoked token: %v", err)
			}
		})
	}
}

package server

import (
	"context"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/access/policy"
	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/server/mcpserver"
	"github.com/toolstream/toolstream/internal/server/questions"
	"github.com/toolstream/toolstream/internal/server/reindex"
	"github.com/toolstream/toolstream/services/calls"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// openTenantBuckets opens all buckets with values of tenants, also if the settings do not use
// them any more.
func openTenantBuckets(_ context.Context, p *Process) (out []tenants.Bucket, err error) {
	for _, b := range []tenants.Bucket{
		{Name: sourcesBucket, TenantOf: sources.TenantOf},
		{Name: weightsBucket, TenantOf: tenantOfWeights},
		{Name: answersBucket, TenantOf: tenantOfAnswer, Cache: true},
		{Name: rewritesBucket, TenantOf: tenantOfAnswer, Cache: true},
		{Name: callsBucket, TenantOf: calls.TenantOfKey, Cache: true},
		{Name: auditKeysBucket, TenantOf: func(key string) (string, bool) { return key, true }, Cache: true}, // never exported
	} {
		bucket := p.bucket(b.Name)
		if b.Name == callsBucket {
			bucket = p.callsBucket()
		}
		if b.Values, err = natsadapter.NewKV(bucket, theConn.get(p)); err != nil {
			return nil, err
		}
		tenantOf := b.TenantOf
		b.TenantOf = func(key string) (tenant string, known bool) {
			if key == natsadapter.ErasedKey {
				return "", true
			}
			return tenantOf(key)
		}
		out = append(out, b)
	}
	return out, nil
}

// tenantOfWeights returns the tenant of a key in the bucket of weights, "" for a key of the
// deployment, and whether the key is known.
func tenantOfWeights(key string) (tenant string, known bool) {
	for _, prefix := range []string{"weights.live.", "weights.version.", usagePrefix, policy.KeyPrefix, mcpserver.PinPrefix, questions.KeyPrefix} {
		if owner, ok := strings.CutPrefix(key, prefix); ok {
			tenant, _, _ = strings.Cut(owner, ".")
			return tenant, true
		}
	}
	return "", strings.HasPrefix(key, tenants.KeyPrefix) || strings.HasPrefix(key, reindex.KeyPrefix) || strings.HasSuffix(key, ".lease")
}

// tenantOfAnswer returns the tenant of a key in a bucket of answers of the language model.
func tenantOfAnswer(key string) (tenant string, known bool) {
	tenant, _, known = strings.Cut(key, ".")
	return tenant, known
}

// openTenants makes the service that exports and erases tenants.
func openTenants(_ context.Context, p *Process) (*tenants.Service, error) {
	bus, accepted, buckets := theBus.get(p), theAcceptance.get(p), theTenantBuckets.get(p)
	d := tenants.Deps{
		Server: bus.Server, Fences: theFences.get(p), Store: theStore.get(p), Buckets: buckets,
		Revision: accepted.Revision, Newest: accepted.Newest, Entities: accepted.Entities, Declared: theSources.get(p).Declared,
		Log: theRevisions.get(p), Waiting: thePeers.get(p).unfenced, Logger: p.log,
	}
	if vectors := theWeaviate.get(p); vectors != nil {
		d.Vectors = vectors.Erase
	}
	service := tenants.New(d)
	p.starts("tenants", service.Run)
	return service, nil
}

// eraseTenants makes all modules forget an erased tenant, producers before consumers.
func eraseTenants(_ context.Context, p *Process) (none, error) {
	fences, store := theFences.get(p), theStore.get(p)
	for _, forget := range slices.Backward(p.erase) {
		fences.OnErase(forget)
	}
	p.starts("erased tenants", func(ctx context.Context) error { return fences.Run(ctx, store) })
	p.ready = append(p.ready, fences.Unfinished)
	return none{}, nil
}

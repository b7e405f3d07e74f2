package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/indexmgr"
	"github.com/toolstream/toolstream/internal/pins"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/questions"
	"github.com/toolstream/toolstream/internal/revisions"
	"github.com/toolstream/toolstream/internal/rungroup"
	"github.com/toolstream/toolstream/internal/tenants"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/calls"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// fence takes a bus for the process, and lets everybody see it behind the fences of tenants.
func (p *process) fence(server tenants.Server) (err error) {
	p.fences, err = tenants.OpenFences(p.cfg.Data, p.log)
	p.server, p.bus = server, tenants.NewBus(server, p.fences)
	return err
}

// fencesWait is how long a start waits for the fences. Those that it knows hold without.
const fencesWait = 5 * time.Second

// readFences reads the fences before anything is read of what lies behind them.
func (p *process) readFences(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fencesWait)
	defer cancel()
	if err := p.fences.Read(ctx, p.store); err != nil {
		p.log.Warn("which tenants were erased cannot be read: what is known holds until it can", "error", err)
	}
}

// obeyFences has the parts of the process forget what is erased.
func (p *process) obeyFences() {
	p.fences.OnErase(p.forget)
	p.run("erased tenants", func(ctx context.Context) error { return p.fences.Run(ctx, p.store) })
	p.ready = append(p.ready, p.fences.Unfinished)
}

// forget drops what the services of the process hold of a tenant.
func (p *process) forget(ctx context.Context, f tenants.Fence) error {
	through, ends := f.Revision, f.Ends[events.DLQ]
	if f.Erasing {
		through, ends = events.MaxRevision, nil
	}
	if p.sources != nil {
		if err := p.sources.Erase(ctx, f.Tenant, f.Erasing); err != nil {
			return err
		}
	}
	if p.ingest != nil {
		p.ingest.Erase(f.Tenant, through)
	}
	if p.dead != nil {
		p.dead.Erase(f.Tenant, ends)
	}
	if p.query != nil {
		p.live.Erase(f.Tenant)
		p.reporter.Erase(f.Tenant)
		p.query.Erase(f.Tenant)
		p.calls.Erase(f.Tenant)
	}
	if p.keys != nil && f.Erasing {
		if err := p.keys.Destroy(ctx, f.Tenant); err != nil {
			return err
		}
	}
	if p.indexes != nil {
		if err := p.indexes.Erase(ctx, f.Tenant, through); err != nil {
			return err
		}
	}
	if p.policy != nil { // after the tools, which everybody may find without grants
		p.policy.Erase(f.Tenant, f.Stored)
	}
	return nil
}

// buildTenants makes the service that exports and erases tenants, beside ingest.
func (p *process) buildTenants() error {
	buckets, err := p.tenantBuckets()
	if err != nil {
		return err
	}
	d := tenants.Deps{
		Server: p.server, Fences: p.fences, Store: p.store, Buckets: buckets,
		Revision: p.ingest.Revision, Newest: p.ingest.Newest, Entities: p.ingest.Entities, Declared: p.sources.Declared,
		Log: p.changes, Waiting: p.waiting, Scrub: p.scrub, Logger: p.log,
	}
	if p.vectors != nil {
		d.Vectors = p.vectors.Erase
	}
	p.tenants = tenants.New(d)
	p.run("tenants", p.tenants.Run)
	return nil
}

// tenantBuckets are the buckets with values of tenants. Those of the language model are
// there whether one is asked or not: one may have been.
func (p *process) tenantBuckets() (out []tenants.Bucket, err error) {
	for _, b := range []tenants.Bucket{
		{Name: sourcesBucket, TenantOf: sources.TenantOf},
		{Name: weightsBucket, TenantOf: tenantOfWeights},
		{Name: answersBucket, TenantOf: tenantOfAnswer, Cache: true},
		{Name: rewritesBucket, TenantOf: tenantOfAnswer, Cache: true},
		{Name: callsBucket, TenantOf: calls.TenantOfKey, Cache: true},
		{Name: auditKeysBucket, TenantOf: tenantOfKey, Cache: true}, // never exported
	} {
		bucket := p.nats.bucket(b.Name)
		if b.Name == callsBucket {
			bucket = p.bucketOfCalls()
		}
		if b.Values, err = natsadapter.NewKV(bucket, p.conn); err != nil {
			return nil, err
		}
		of := b.TenantOf
		b.TenantOf = func(key string) (tenant string, known bool) {
			if key == natsadapter.ErasedKey {
				return "", true
			}
			return of(key)
		}
		out = append(out, b)
	}
	return out, nil
}

// tenantOfWeights returns the tenant that a key of the bucket of weights is about, none for
// one of the deployment, and whether the key is known.
func tenantOfWeights(key string) (tenant string, known bool) {
	for _, prefix := range []string{"weights.live.", "weights.version.", usagePrefix, policy.KeyPrefix, pins.KeyPrefix, questions.KeyPrefix} {
		if owner, ok := strings.CutPrefix(key, prefix); ok {
			tenant, _, _ = strings.Cut(owner, ".")
			return tenant, true
		}
	}
	return "", strings.HasPrefix(key, tenants.KeyPrefix) || strings.HasPrefix(key, indexmgr.KeyPrefix) || strings.HasSuffix(key, ".lease")
}

// tenantOfKey returns the tenant whose private fields of records a key seals.
func tenantOfKey(key string) (tenant string, known bool) { return key, true }

// tenantOfAnswer returns the tenant to whom a language model has answered.
func tenantOfAnswer(key string) (tenant string, known bool) {
	tenant, _, known = strings.Cut(key, ".")
	return tenant, known
}

// scrubBuckets overwrites what the disk still has of a tenant's values.
func (e *Embedded) scrubBuckets(ctx context.Context, tenant string) error {
	buckets, err := e.tenantBuckets()
	if err != nil {
		return err
	}
	return e.js.ScrubBuckets(ctx, func(bucket, key string) bool {
		if bucket == e.nats.bucket(revisions.Name).Bucket {
			return strings.HasPrefix(key, revisions.Prefix(tenant))
		}
		i := slices.IndexFunc(buckets, func(b tenants.Bucket) bool { return e.nats.bucket(b.Name).Bucket == bucket })
		return i >= 0 && buckets[i].Has(tenant)(key)
	})
}

// erasedSubject is where all processes say whether they obey a fence, which is the request.
const erasedSubject = "erased"

// ackTime is how long the answers of other processes are waited for.
const ackTime = 500 * time.Millisecond

// askErased lets the process say whether it obeys a fence, and ask the others.
func (s *Served) askErased() {
	type answer struct {
		Address string `json:"address"`
		Obeys   bool   `json:"obeys"`
	}
	all := natsadapter.NewScatterGather(s.conn, s.nats.subject(erasedSubject), func(request []byte) []byte {
		var f tenants.Fence
		ok := json.Unmarshal(request, &f) == nil && s.fences.Obeys(f)
		raw, _ := json.Marshal(answer{s.URL(), ok}) // texts and truth values always encode
		return raw
	})
	s.waiting = func(ctx context.Context, f tenants.Fence) (waiting []string, err error) {
		request, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		answers, err := all.Ask(ctx, request, ackTime)
		for _, raw := range answers {
			var a answer
			if json.Unmarshal(raw, &a) == nil && !a.Obeys {
				waiting = append(waiting, a.Address)
			}
		}
		return waiting, err
	}
	s.background = append(s.background, rungroup.New("erased tenants of peers", all.Run))
}

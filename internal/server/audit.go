package server

import (
	"context"

	"github.com/toolstream/toolstream/internal/access/audit"
	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/changes/tenants"
)

// auditKeysBucket is the bucket of the keys of tenants.
const auditKeysBucket = "audit_keys"

// auditLog writes and reads the audit log.
type auditLog struct {
	*audit.Log
	records *audit.Reader
}

// openAudit opens the log. It stops after the services, so that their last answers are recorded.
func openAudit(_ context.Context, p *Process) (auditLog, error) {
	bus, conn := theBus.get(p), theConn.get(p)
	store, err := natsadapter.NewKV(p.bucket(auditKeysBucket), conn)
	if err != nil {
		return auditLog{}, err
	}
	bucket := p.bucket("audit_heads") // the ends of chains
	bucket.TTL = audit.HeadAge
	heads, err := natsadapter.NewKV(bucket, conn)
	if err != nil {
		return auditLog{}, err
	}
	keys := audit.NewKeys(store, p.log)
	log := audit.New(audit.Deps{Publisher: bus, Keys: keys, Heads: heads, Logger: p.log, Registerer: p.metrics})
	p.starts("audit keys", keys.Run)
	p.starts("audit log", log.Run)
	p.erases(func(ctx context.Context, f tenants.Fence) error {
		if !f.Erasing {
			return nil
		}
		return keys.Destroy(ctx, f.Tenant)
	})
	return auditLog{log, audit.NewReader(bus, keys, heads)}, nil
}

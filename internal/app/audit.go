package app

import (
	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/rungroup"
)

// Buckets of the audit log: the keys of tenants, and the ends of chains.
const (
	auditKeysBucket  = "audit_keys"
	auditHeadsBucket = "audit_heads"
)

// openAudit opens the audit log of a process that answers callers. It ends after the
// services: what they still answer is recorded.
func (p *process) openAudit() error {
	if !p.serves(IngestService, QueryService, TrainerService) {
		return nil
	}
	store, err := natsadapter.NewKV(p.nats.bucket(auditKeysBucket), p.conn)
	if err != nil {
		return err
	}
	bucket := p.nats.bucket(auditHeadsBucket)
	bucket.TTL = audit.HeadAge
	heads, err := natsadapter.NewKV(bucket, p.conn)
	if err != nil {
		return err
	}
	p.keys = audit.NewKeys(store, p.log)
	p.audit = audit.New(audit.Deps{Publisher: p.bus, Keys: p.keys, Heads: heads, Logger: p.log, Registerer: p.metrics})
	p.records = audit.NewReader(p.bus, p.keys, heads)
	p.background = append(p.background, rungroup.New("audit keys", p.keys.Run), rungroup.New("audit log", p.audit.Run))
	return nil
}

// auditLog is the log as the server takes it.
func (p *process) auditLog() httpserver.AuditLog {
	if p.audit == nil {
		return nil
	}
	return p.audit
}

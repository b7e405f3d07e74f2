package nats

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// ScatterGather asks every process at once and gathers their answers, unlike a
// Service; there one process answers.
type ScatterGather struct {
	conn    *nats.Conn
	subject string
	answer  func(request []byte) []byte
}

// NewScatterGather returns a ScatterGather on a subject. While Run runs, this process answers
// requests with answer.
func NewScatterGather(conn *nats.Conn, subject string, answer func(request []byte) []byte) *ScatterGather {
	return &ScatterGather{conn: conn, subject: subject, answer: answer}
}

// Run answers until ctx ends.
func (g *ScatterGather) Run(ctx context.Context) error {
	s, err := g.conn.Subscribe(g.subject, func(m *nats.Msg) {
		_ = m.Respond(g.answer(m.Data)) // the asker tolerates missing answers
	})
	if err != nil {
		return fmt.Errorf("nats: answer on %s: %w", g.subject, err)
	}
	<-ctx.Done()
	_ = s.Unsubscribe() // it has ended with the connection, or ends with it
	return nil
}

// Ask sends a request to all processes and returns the answers that came until nothing came for
// as long as wait. It is not an error if no process answers.
func (g *ScatterGather) Ask(ctx context.Context, request []byte, wait time.Duration) ([][]byte, error) {
	if !g.conn.IsConnected() {
		return nil, disconnected(g.conn)
	}
	inbox := g.conn.NewRespInbox()
	answers, err := g.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("nats: ask on %s: %w", g.subject, err)
	}
	defer func() { _ = answers.Unsubscribe() }() // it has ended with the connection, or ends with it
	if err := g.conn.PublishRequest(g.subject, inbox, request); err != nil {
		return nil, fmt.Errorf("nats: ask on %s: %w", g.subject, err)
	}
	var out [][]byte
	for {
		next, cancel := context.WithTimeout(ctx, wait)
		m, err := answers.NextMsgWithContext(next)
		cancel()
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			return out, nil // no further process answers
		}
		if m.Header.Get("Status") == "" {
			out = append(out, m.Data)
		}
	}
}

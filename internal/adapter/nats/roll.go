package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Roll is a subject on which every process answers for itself, unlike a Service,
// of which one does.
type Roll struct {
	conn    *nats.Conn
	subject string
	answer  func(asked []byte) []byte
}

// NewRoll returns a roll on which this process answers what it is asked while Run
// runs. An answer that is nil is none.
func NewRoll(conn *nats.Conn, subject string, answer func(asked []byte) []byte) (*Roll, error) {
	if conn == nil || subject == "" || answer == nil {
		return nil, errors.New("nats: a roll needs a connection, a subject and an answer")
	}
	return &Roll{conn: conn, subject: subject, answer: answer}, nil
}

// Run answers until ctx ends.
func (r *Roll) Run(ctx context.Context) error {
	s, err := r.conn.Subscribe(r.subject, func(m *nats.Msg) {
		if answer := r.answer(m.Data); answer != nil {
			_ = m.Respond(answer) // who asked does not count on everybody
		}
	})
	if err != nil {
		return fmt.Errorf("nats: answer on %s: %w", r.subject, err)
	}
	<-ctx.Done()
	_ = s.Unsubscribe() // it has ended with the connection, or ends with it
	return nil
}

// Call asks everybody the same and returns what came until nothing came for patience. That
// nobody is there is no error.
func (r *Roll) Call(ctx context.Context, asked []byte, patience time.Duration) ([][]byte, error) {
	if !r.conn.IsConnected() {
		return nil, disconnected(r.conn)
	}
	inbox := r.conn.NewRespInbox()
	answers, err := r.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("nats: ask on %s: %w", r.subject, err)
	}
	defer func() { _ = answers.Unsubscribe() }() // it has ended with the connection, or ends with it
	if err := r.conn.PublishRequest(r.subject, inbox, asked); err != nil {
		return nil, fmt.Errorf("nats: ask on %s: %w", r.subject, err)
	}
	var out [][]byte
	for {
		wait, cancel := context.WithTimeout(ctx, patience)
		m, err := answers.NextMsgWithContext(wait)
		cancel()
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			return out, nil // nobody, or nobody else
		}
		if m.Header.Get("Status") == "" {
			out = append(out, m.Data)
		}
	}
}

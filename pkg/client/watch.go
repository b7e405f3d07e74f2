package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Event is something that has changed, or how something is.
type Event struct {
	Name string          `json:"event"` // status, sample, tools, dead_letters, sources, weights
	Data json.RawMessage `json:"data"`  // as the OpenAPI document describes it for the name
}

// silence is how long a server that tells what changes may say nothing: it sends a sign of
// life every 15 seconds.
const silence = 45 * time.Second

// maxEvent bounds one event, in bytes.
const maxEvent = 16 << 20

// errSilent is why a connection is given up.
var errSilent = errors.New("the server says nothing any more")

// Watch calls fn with the current state as far as the caller may see it, and then with every
// change. It returns nil when the server ends the stream, for example to restart: call Watch
// again after a moment. Errors come from fn, ctx and the connection; an error answer of the
// server is a *Problem.
func (c *Client) Watch(ctx context.Context, fn func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	body, _, err := c.Send(ctx, http.MethodGet, "/v1/stream", nil, "", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEvent)
	var event Event
	for lines.Scan() {
		quiet.Reset(silence)
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "": // the end of an event
			if len(event.Data) > 0 {
				if err := fn(event); err != nil {
					return err
				}
			}
			event = Event{}
		case field == "event":
			event.Name = value
		case field == "data":
			event.Data = append(event.Data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("what changes at %s: %w", c.Server, err)
	}
	return nil
}

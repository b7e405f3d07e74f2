package ingest

import (
	"errors"
	"fmt"

	"github.com/toolstream/toolstream/internal/stream"
)

var (
	errLoading = errors.New("the table of known tools is still being read from the bus")
	errAhead   = errors.New("it was decided on changes that the bus did not confirm")
	errStopped = errors.New("the service has stopped")
)

// UnavailableError says that nothing could be decided or that it is unknown
// what reached the bus. The same request later does no harm.
type UnavailableError struct {
	Op   string
	Full bool // the bus has no room left
	Err  error
}

// Error names the operation and the cause.
func (e *UnavailableError) Error() string { return fmt.Sprintf("ingest: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

func unavailable(op string, err error) error {
	return &UnavailableError{Op: op, Full: errors.Is(err, stream.ErrFull), Err: err}
}

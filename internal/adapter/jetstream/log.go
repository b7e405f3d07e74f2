package jetstream

import (
	"fmt"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
)

var _ server.Logger = serverLog{}

// serverLog writes the server's log to ours. Its notices are of no interest to
// an operator who runs no server, so they are debug messages here.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Warnf(format string, v ...any)   { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Fatalf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Tracef(string, ...any)           {}

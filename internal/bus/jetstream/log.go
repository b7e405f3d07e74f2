package jetstream

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

var _ server.Logger = serverLog{}

// serverLog writes the server's log to ours. Its notices are of no interest to
// an operator who runs no server, so they are debug messages here.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Fatalf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Tracef(string, ...any)           {}

// Warnf leaves out what every start after a crash says: the summary of a stream, which
// is written from time to time, is older than its records, and is made of them again.
func (l serverLog) Warnf(format string, v ...any) {
	text, level := fmt.Sprintf(format, v...), slog.LevelWarn
	if strings.Contains(text, "] Stream state outdated, ") || strings.HasSuffix(text, " from index errored: prior state file") {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, text)
}

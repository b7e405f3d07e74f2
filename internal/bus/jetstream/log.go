package jetstream

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

var _ server.Logger = serverLog{}

// serverLog writes the server's log to ours. Its notices become debug messages: they do not
// interest an operator who runs no NATS server.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Fatalf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Tracef(string, ...any)           {}

// Warnf demotes the warnings of every start after a crash: the summary of a stream, which is
// written from time to time, is older than its records, and the server rebuilds it.
func (l serverLog) Warnf(format string, v ...any) {
	text, level := fmt.Sprintf(format, v...), slog.LevelWarn
	if strings.Contains(text, "] Stream state outdated, ") || strings.HasSuffix(text, " from index errored: prior state file") {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, text)
}

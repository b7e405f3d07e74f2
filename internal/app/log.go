package app

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/tracing"
)

// NewLogger writes to w what the settings ask for: text on a terminal,
// JSON elsewhere; with the ids of the trace where there is one.
func NewLogger(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	// The settings were validated: an unknown level cannot come here.
	_ = level.UnmarshalText([]byte(c.Level))
	opts := &slog.HandlerOptions{Level: level}
	if LogsJSON(c, w) {
		return slog.New(tracing.Logs(slog.NewJSONHandler(w, opts)))
	}
	return slog.New(tracing.Logs(slog.NewTextHandler(w, opts)))
}

// LogsJSON reports whether a log to w is for a machine: then nothing else should
// go there.
func LogsJSON(c config.Log, w io.Writer) bool {
	return c.Format == "json" || c.Format == "auto" && !isTerminal(w)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

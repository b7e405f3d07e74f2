package lifecycle

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestALogHearsOfChangesAlone(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var s Health
	broken := errors.New("broken pipe")
	for _, err := range []error{nil, broken, broken, errors.New("another"), nil, nil, broken} {
		s.LogChange(t.Context(), log, err, "it fails", "it works again", "part", "pipe")
		if s.Fails() != (err != nil) {
			t.Errorf("after %v it fails: %v", err, s.Fails())
		}
	}
	var said []string
	for line := range strings.Lines(out.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), "level=")
		said = append(said, line)
	}
	want := []string{`WARN msg="it fails" part=pipe error="broken pipe"`, `INFO msg="it works again" part=pipe`, `WARN msg="it fails" part=pipe error="broken pipe"`}
	if strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", said)
	}
}

package files_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	check.OK(t, os.WriteFile(path, text, 0o600))
}

// A pair that does not match is refused at the start, and later leaves the last one in force.
func TestAPairIsReadAgainWhenItChanges(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	first, firstKey := servertest.Certificate(t)
	second, secondKey := servertest.Certificate(t)
	write(t, certFile, first)
	write(t, keyFile, secondKey)
	var log bytes.Buffer
	open := func() (files.Pair, error) {
		return files.OpenPair("tls.cert_file", certFile, keyFile, slog.New(slog.NewTextHandler(&log, nil)))
	}
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "tls.cert_file") || !strings.Contains(err.Error(), keyFile) || !strings.Contains(err.Error(), "does not match") {
		t.Errorf("a key of another certificate: %v", err)
	}
	write(t, keyFile, firstKey)
	pair := check.Value(open())(t)
	was := pair.Current().Leaf
	write(t, certFile, second)
	if !pair.Current().Leaf.Equal(was) || strings.Count(log.String(), "cannot be read") != 1 {
		t.Errorf("half of a change is in force: %s", &log)
	}
	write(t, keyFile, secondKey)
	if pair.Current().Leaf.Equal(was) {
		t.Errorf("the change is not in force: %s", &log)
	}
	check.OK(t, os.Remove(certFile))
	if pair.Current() == nil {
		t.Error("without its file there is no certificate")
	}
}

func TestAuthoritiesAreCertificatesAndNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.crt")
	cert, key := servertest.Certificate(t)
	other, _ := servertest.Certificate(t)
	for what, tc := range map[string]struct {
		text  []byte
		count int
		err   string
	}{
		"two":      {append(bytes.Clone(cert), other...), 2, ""},
		"nothing":  {nil, 0, "holds no certificate"},
		"a key":    {append(bytes.Clone(cert), key...), 0, "PRIVATE KEY"},
		"no block": {[]byte("certificate"), 0, "holds no certificate"},
	} {
		write(t, path, tc.text)
		all, err := files.Authorities(path)
		if len(all) != tc.count || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %d %v", what, len(all), err)
		}
	}
	if pool, err := files.Pool(""); pool != nil || err != nil {
		t.Errorf("the system's: %v %v", pool, err)
	}
}

package console

import (
	"compress/gzip"
	"io"
	"io/fs"
	"path"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/web"
)

// most is how many bytes all scripts and styles of the console may have on their way.
const most = 200 << 10

func TestTheConsoleIsSmall(t *testing.T) {
	var sent counter
	check.OK(t, fs.WalkDir(web.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".js" && path.Ext(name) != ".css" {
			return err
		}
		raw, err := fs.ReadFile(web.Files(), name)
		if err != nil {
			return err
		}
		z, err := gzip.NewWriterLevel(&sent, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(raw); err != nil {
			return err
		}
		return z.Close()
	}))
	t.Logf("scripts and styles have %d bytes with gzip, of %d that they may have", sent, most)
	if sent == 0 || sent > most {
		t.Errorf("scripts and styles have %d bytes with gzip: at least one, at most %d", sent, most)
	}
}

// counter counts what is written to it.
type counter int

var _ io.Writer = (*counter)(nil)

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

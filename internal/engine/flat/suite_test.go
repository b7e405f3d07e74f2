package flat

import (
	"log/slog"
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config(t testing.TB, place string) Config {
	return Config{Path: place, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Registerer: prometheus.NewRegistry()}
}

func open(t testing.TB, place string) *Index {
	t.Helper()
	i := check.Value(Open(t.Context(), config(t, place)))(t)
	unsynced(i)
	t.Cleanup(func() { check.OK(t, i.Close()) })
	return i
}

// reopen closes an index and opens its folder again.
func reopen(t testing.TB, i *Index) *Index {
	t.Helper()
	check.OK(t, i.Close())
	return open(t, i.config.Path)
}

// unsynced spares a test that never cuts the power the wait for the disk.
func unsynced(i *Index) { i.records.log.Flush = func(*os.File) error { return nil } }

func TestIndexSuite(t *testing.T) {
	adaptertest.IndexSuite(t, adaptertest.IndexAdapter{
		Open: func(t *testing.T, place string) (adaptertest.Index, func()) {
			i := open(t, place)
			return i, func() {
				if err := i.Close(); err != nil {
					t.Error(err)
				}
			}
		},
	})
}

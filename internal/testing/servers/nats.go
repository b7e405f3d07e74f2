package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsVersion is the version in go.mod, which the embedded bus uses; a test
// compares them.
const natsVersion = "2.15.2"

func layNATS(_ context.Context, home, dir string) (plan, error) {
	port, err := ports(dir, 1)
	if err != nil {
		return plan{}, err
	}
	addr := loopback(port[0])
	// The largest sizes of streams count as used: all deployments of a test run together reserve
	// more than three quarters of a small disk, which is the server's own limit.
	settings := fmt.Sprintf("listen: %q\njetstream {\n  store_dir: %q\n  sync_interval: always\n  max_file_store: 1TB\n}\n",
		addr, filepath.Join(dir, "data"))
	path := filepath.Join(dir, "nats.conf")
	return plan{
		addr:  addr,
		argv:  []string{filepath.Join(home, "nats-server"), "-c", path},
		ready: func(ctx context.Context) error { return natsReady(ctx, addr) },
	}, os.WriteFile(path, []byte(settings), 0o600)
}

func natsReady(ctx context.Context, addr string) error {
	conn, err := nats.Connect("nats://" + addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	_, err = js.AccountInfo(ctx)
	return err
}

package nats

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect starts a server in process and returns a connection to it.
func connect(t *testing.T) *nats.Conn {
	t.Helper()
	ns, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// serve runs a service until the test ends.
func serve(t *testing.T, nc *nats.Conn, h Handler) {
	t.Helper()
	serveWith(t, Config{Name: "test", Subject: "toolstream.test"}, nc, h)
}

func serveWith(t *testing.T, cfg Config, nc *nats.Conn, h Handler) {
	t.Helper()
	s, err := NewService(cfg, nc, h)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	awaitNamed(t, nc, cfg.Name)
}

func TestRequestIsAnswered(t *testing.T) {
	nc := connect(t)
	serve(t, nc, func(_ context.Context, tenant string, request []byte) ([]byte, error) {
		return []byte(tenant + ": " + string(request)), nil
	})
	msg := nats.NewMsg("toolstream.test")
	msg.Data = []byte("hello")
	reply, err := nc.RequestMsg(msg, time.Minute)
	if err != nil || string(reply.Data) != "default: hello" {
		t.Errorf("got %q, %v", reply.Data, err)
	}
	msg.Header.Set(HeaderTenant, "acme")
	reply, err = nc.RequestMsg(msg, time.Minute)
	if err != nil || string(reply.Data) != "acme: hello" {
		t.Errorf("got %q, %v", reply.Data, err)
	}
}

func TestErrorsCarryAStatus(t *testing.T) {
	tests := []struct {
		err    error
		tenant string
		status string
	}{
		{&schema.Invalid{Path: "/k", Reason: "is negative"}, "", "422"},
		{context.DeadlineExceeded, "", "504"},
		{errors.New("the index is gone"), "", "503"},
		{nil, "Not A Tenant", "422"},
	}
	nc := connect(t)
	var fail error
	serve(t, nc, func(context.Context, string, []byte) ([]byte, error) { return nil, fail })
	for _, test := range tests {
		fail = test.err
		msg := nats.NewMsg("toolstream.test")
		if test.tenant != "" {
			msg.Header.Set(HeaderTenant, test.tenant)
		}
		reply, err := nc.RequestMsg(msg, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if got := reply.Header.Get(micro.ErrorCodeHeader); got != test.status {
			t.Errorf("%v: status %q, want %s", test.err, got, test.status)
		}
		var p problem
		if err := json.Unmarshal(reply.Data, &p); err != nil || p.Detail == "" {
			t.Errorf("%v: body %s, %v", test.err, reply.Data, err)
		}
	}
}

func TestAServiceMayNameItsOwnStatuses(t *testing.T) {
	nc := connect(t)
	cfg := Config{Name: "test", Subject: "toolstream.test", Status: func(error) int { return 413 }}
	serveWith(t, cfg, nc, func(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("too much") })
	reply, err := nc.Request("toolstream.test", nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.Header.Get(micro.ErrorCodeHeader); got != "413" || reply.Header.Get(micro.ErrorHeader) == "" {
		t.Errorf("headers %v", reply.Header)
	}
}

func TestNewServiceNamesWhatIsMissing(t *testing.T) {
	if _, err := NewService(Config{Name: "x"}, nil, nil); err == nil {
		t.Error("a service without a subject was made")
	}
}

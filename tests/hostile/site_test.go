// Package hostile attacks a running toolstream as strangers would, with servers, registries,
// clients and documents, and checks that honest callers notice nothing and that it recovers.
//
// TOOLSTREAM_HOSTILE is the length of the attack, 10m if it is not set; TOOLSTREAM_HOSTILE_SEED
// repeats the choices of a run, and TOOLSTREAM_HOSTILE_KINDS limits them to kinds whose names
// begin with one of its words, such as "client/,server/look".
package hostile

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
	"github.com/toolstream/toolstream/pkg/client"
)

const (
	limit    = 1 << 30 // bytes of memory of the process
	goLimit  = "GOMEMLIMIT=1GiB"
	patience = 7 * time.Minute // longer than the process keeps unused connections to servers of tools
	slack    = 32              // goroutines and files of buckets that begin with their first use
)

// site is a running server with a token for each tenant.
type site struct {
	*process.Process
	root   *client.Client // operator of the deployment
	evil   *client.Client // admin of the attacker's tenant
	honest []*client.Client
}

func open(t *testing.T) *site {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens")
	client := func(tenant string) *client.Client {
		return &client.Client{
			Token: tokentest.Add(t, tokens, identity.Caller{Tenant: tenant, Subject: "one", Role: identity.Admin}, time.Time{}),
			HTTP:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		}
	}
	s := &site{root: client(identity.DefaultTenant), evil: client("evil")}
	for _, name := range []string{"acme", "beta"} {
		s.honest = append(s.honest, client(name))
	}
	s.Process = process.StartIn(t, process.Build(t), filepath.Join(t.TempDir(), "data"), []string{
		goLimit, "TOOLSTREAM_AUTH_TOKENS_FILE=" + tokens, "TOOLSTREAM_CRAWL_PRIVATE=127.0.0.0/8",
	})
	s.Process.Client.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // each probe is a new connection
	for _, c := range append(s.honest, s.root, s.evil) {
		c.Server = s.Process.Client.Server
	}
	return s
}

// leave closes the connections of all clients that do not send.
func (s *site) leave() {
	for _, c := range append(s.honest, s.root, s.evil) {
		c.HTTP.CloseIdleConnections()
	}
}

// size is what a process holds.
type size struct {
	resident, peak    int64
	goroutines, files int
}

func (z size) String() string {
	return fmt.Sprintf("%d MB (at most %d MB), %d goroutines, %d files", z.resident>>20, z.peak>>20, z.goroutines, z.files)
}

func (s *site) size(t *testing.T) size {
	t.Helper()
	z := size{goroutines: int(s.metric(t, "go_goroutines")), files: s.Files(t)}
	z.resident, z.peak = s.Resident(t)
	return z
}

// metric returns a metric of the process that has no labels.
func (s *site) metric(t *testing.T, name string) float64 {
	t.Helper()
	body, _, err := s.Process.Client.Send(t.Context(), http.MethodGet, "/metrics", nil, "", nil)
	check.OK(t, err)
	defer body.Close()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return check.Value(strconv.ParseFloat(value, 64))(t)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// settled waits until the process has no more goroutines and files than before, checks its memory
// and that no handler has panicked.
func (s *site) settled(t *testing.T, before size) {
	t.Helper()
	s.leave()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var after size
	begin := time.Now()
	err := process.Until(ctx, func() (bool, error) {
		after = s.size(t)
		return after.goroutines <= before.goroutines+slack && after.files <= before.files+slack, nil
	})
	t.Logf("before: %s\nafter:  %s, %s later", before, after, time.Since(begin).Round(time.Second))
	if err != nil {
		t.Errorf("it does not come back to its start: %v", err)
	}
	if after.peak > limit {
		t.Errorf("it took %d MB of memory", after.peak>>20)
	}
	if n := s.metric(t, "toolstream_http_panics_total"); n > 0 || strings.Contains(s.Log(), "panic") {
		t.Errorf("%v handlers panicked:\n%s", n, s.Log())
	}
}

// seeded returns the seed of a run, and says it.
func seeded(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("TOOLSTREAM_HOSTILE_SEED"); given != "" {
		seed = check.Value(strconv.ParseUint(given, 10, 64))(t)
	}
	t.Logf("TOOLSTREAM_HOSTILE_SEED=%d", seed)
	return seed
}

func random(seed, of uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, of)) }

// length is how long the attack lasts.
func length(t *testing.T) time.Duration {
	t.Helper()
	return check.Value(time.ParseDuration(cmp.Or(os.Getenv("TOOLSTREAM_HOSTILE"), "10m")))(t)
}

func pick[V any](r *rand.Rand, of []V) V { return of[r.IntN(len(of))] }

// wait returns after a time, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// dial connects to the process from an address of loopback.
func (s *site) dial(ctx context.Context, from net.IP) (*net.TCPConn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(s.Process.Client.Server, "http://"))
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// here is the address that the process and its honest callers have.
func here() net.IP { return net.IPv4(127, 0, 0, 1) }

// discard reads a body to its end.
func discard(body io.ReadCloser) error {
	defer body.Close()
	_, err := io.Copy(io.Discard, body)
	return err
}

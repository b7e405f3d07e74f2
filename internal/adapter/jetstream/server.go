package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/filelock"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

var (
	_ stream.Publisher   = (*Server)(nil)
	_ stream.Republisher = (*Server)(nil)
	_ stream.Groups      = (*Server)(nil)
	_ stream.Follower    = (*Server)(nil)
)

// readyTimeout bounds the start: the server reads its streams' state first.
const readyTimeout = 2 * time.Minute

// Server is the bus. Its methods may be called concurrently.
type Server struct {
	cfg     Config
	log     *slog.Logger
	ns      *server.Server
	nc      *nats.Conn
	js      jetstream.JetStream
	lock    *os.File
	reserve int64                    // bytes that records may not use up
	broken  chan error               // holds why nothing can be stored any more
	opened  map[events.Topic]uint64  // where the topics ended when the bus was opened
	torn    map[events.Topic]tornEnd // of those of which the last record can not be read
	quit    chan struct{}
	work    sync.WaitGroup // ends after quit is closed

	witnessing sync.Mutex // held while the witness is written

	mu          sync.Mutex // guards what follows
	leases      map[claim]chan struct{}
	lanes       map[events.Topic]*lane
	generations []events.Topic // of generations from the second on, those that are there
}

// claim is a group's hold on a partition.
type claim struct {
	group     string
	topic     events.Topic
	partition int
}

// Open starts the bus in cfg.Dir, with everything that was ever acknowledged
// there. It fails if the folder can not be written, is open in another
// process, or has lost messages.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (_ *Server, err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: log, lanes: map[events.Topic]*lane{}, quit: make(chan struct{}), broken: make(chan error, 1), leases: map[claim]chan struct{}{}, opened: map[events.Topic]uint64{}, torn: map[events.Topic]tornEnd{}}
	defer func() {
		if err != nil {
			s.shutdown()
		}
	}()
	if err := s.claimDir(); err != nil {
		return nil, fmt.Errorf("jetstream: data folder %s: %w", cfg.Dir, err)
	}
	if err := s.checkBlocks(); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("jetstream: start in %s: %w", cfg.Dir, err)
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if err := s.checkWitness(ctx); err != nil {
		return nil, err
	}
	for _, topic := range s.topics() {
		if topic != positionsTopic {
			s.adopt(topic)
		}
	}
	s.work.Go(s.testify)
	return s, nil
}

// claimDir makes sure that the folder exists, is writable and ours alone.
func (s *Server) claimDir() error {
	if err := os.MkdirAll(s.cfg.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.cfg.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := filelock.Take(f); err != nil {
		return errors.Join(err, f.Close())
	}
	s.lock = f
	// The lock file may have been there before the folder became read-only.
	probe, err := os.CreateTemp(s.cfg.Dir, "probe-*")
	if err != nil {
		return fmt.Errorf("not writable: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// start runs the server and connects to it in memory.
func (s *Server) start() error {
	var err error
	if s.cfg, err = s.cfg.limitStore(); err != nil {
		return err
	}
	s.reserve = min(max(s.cfg.MaxStore/16, minReserve), maxReserve)
	opts, err := s.cfg.serverOptions()
	if err != nil {
		return err
	}
	if s.ns, err = server.NewServer(opts); err != nil {
		return err
	}
	s.ns.SetLoggerV2(serverLog{s.log}, false, false, false)
	if err := s.startServer(readyTimeout); err != nil {
		return err
	}
	if !s.ns.ReadyForConnections(readyTimeout) {
		return fmt.Errorf("not ready after %v", readyTimeout)
	}
	if !s.ns.JetStreamEnabled() {
		return errors.New("the server could not open its store: see the log")
	}
	s.nc, err = nats.Connect("", nats.InProcessServer(s.ns), nats.Name("toolstream"),
		nats.Token(s.cfg.Token), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	s.js, err = jetstream.New(s.nc, jetstream.WithPublishAsyncMaxPending(2*maxBatch*(len(events.Topics())+keptGenerations)))
	return err
}

// startServer starts the server in bounded time. A damaged sequence number
// keeps it counting through all those that seem to be missing, and it can not
// be told to stop.
func (s *Server) startServer(limit time.Duration) error {
	if returnsWithin(limit, s.ns.Start) {
		return nil
	}
	s.ns = nil // a shutdown would wait for the start
	return s.lost(fmt.Sprintf("its files could not be read within %v, which damage explains", limit))
}

// returnsWithin runs start and says whether it returned in time; one that did
// not goes on by itself.
func returnsWithin(limit time.Duration, start func()) bool {
	returned := make(chan struct{})
	go func() {
		start()
		close(returned)
	}()
	select {
	case <-returned:
		return true
	case <-time.After(limit):
		return false
	}
}

// ceiling is what the server may store, as far as it is concerned: it can not be told
// later that the disk has grown, so that room decides.
func (c Config) ceiling() int64 {
	if c.grows {
		return 1 << 60
	}
	return c.MaxStore
}

func (c Config) serverOptions() (*server.Options, error) {
	o := &server.Options{
		ServerName:             "toolstream",
		DontListen:             true,
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               c.Dir,
		SyncAlways:             true, // an acknowledgement means: on disk
		MaxPayload:             MaxPayload,
		JetStreamMaxMemory:     c.MaxMemory,
		JetStreamMaxStore:      c.ceiling(),
		DisableJetStreamBanner: true,
	}
	if c.Listen == "" {
		return o, nil
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w", c.Listen, err)
	}
	o.DontListen, o.Host, o.Authorization = false, host, c.Token
	if o.Port, err = strconv.Atoi(port); err != nil {
		return nil, fmt.Errorf("listen address %q: %w", c.Listen, err)
	}
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	return o, nil
}

// Run waits until ctx ends and then returns nil. Before, it returns an error
// once the bus can not store anything any more, because the disk failed or is
// full to the brim: the store has to be opened again, in a new process.
func (s *Server) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.broken:
		return err
	}
}

// breakDown notes that the store does not answer. It does not after a failed
// write, until it is opened again.
func (s *Server) breakDown(cause error) error {
	err := fmt.Errorf("jetstream: the store in %s does not acknowledge: check the disk, then start again: %w", s.cfg.Dir, cause)
	select {
	case s.broken <- err:
	default: // it is known
	}
	return err
}

// Conn is the connection to the server, for request-reply services. It closes
// with the server.
func (s *Server) Conn() *nats.Conn { return s.nc }

// Addr is where other processes connect, "" if no port is open.
func (s *Server) Addr() string {
	if s.cfg.Listen == "" {
		return ""
	}
	return s.ns.ClientURL()
}

// Close ends what still reads and publishes, and returns once everything is
// on disk. It is to be called once, after those who use the bus are done.
func (s *Server) Close(ctx context.Context) error {
	close(s.quit)
	s.work.Wait()
	err := s.writeWitness(ctx)
	s.shutdown()
	return err
}

// shutdown undoes as much as was started.
func (s *Server) shutdown() {
	if s.nc != nil {
		s.nc.Close()
	}
	if s.ns != nil {
		s.ns.Shutdown()
		s.ns.WaitForShutdown()
	}
	if s.lock != nil {
		s.lock.Close()
	}
}

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/files"
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

// maxPending limits the messages that wait for acknowledgement: a batch of each writer, for
// the topics of the flow and two further index versions.
const maxPending = 16 * maxBatch

// Server is the bus. Its methods may be called concurrently.
type Server struct {
	cfg  Config
	log  *slog.Logger
	lock *os.File
	quit chan struct{}
	work sync.WaitGroup // ends after quit is closed

	ns *server.Server
	nc *nats.Conn
	js jetstream.JetStream

	failure   *failure
	writers   *writers
	positions positions
	erased    *erasures
	losses    *lossCheck

	mu      sync.Mutex // guards members
	members map[consumer]chan struct{}
}

// Open starts the bus in cfg.Dir, with everything that was ever acknowledged
// there. It fails if the folder cannot be written, is open in another
// process, or has lost messages.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (_ *Server, err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, log: log, quit: make(chan struct{}), members: map[consumer]chan struct{}{},
		failure: &failure{dir: cfg.Dir, happened: make(chan error, 1)},
	}
	defer func() {
		if err != nil {
			close(s.quit)
			s.work.Wait()
			s.shutdown()
		}
	}()
	if err := s.claimDir(); err != nil {
		return nil, fmt.Errorf("jetstream: data folder %s: %w", cfg.Dir, err)
	}
	if s.erased, err = readErasures(filepath.Join(cfg.Dir, erasedFile)); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("jetstream: start in %s: %w", cfg.Dir, err)
	}
	s.writers = &writers{
		js: s.js, nc: s.nc, room: s.Room, failure: s.failure, quit: s.quit, work: &s.work,
		byTopic: map[events.Topic]*stream.Batcher[*nats.Msg]{},
	}
	s.losses = &lossCheck{
		dir: cfg.Dir, acceptLoss: cfg.AcceptLoss, log: log, js: s.js, topics: s.writers.topics, erased: s.erased,
		opened: map[events.Topic]uint64{}, torn: map[events.Topic]tornEnd{},
	}
	if err := s.losses.verifyBuckets(ctx); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	s.losses.positions = s.positions
	if err := s.losses.checkAll(ctx); err != nil {
		return nil, err
	}
	s.work.Go(func() { s.losses.saveRegularly(s.quit) })
	return s, nil
}

// claimDir creates the folder, checks that it is writable and locks it.
func (s *Server) claimDir() error {
	if err := os.MkdirAll(s.cfg.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.cfg.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := files.Lock(f); err != nil {
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
	ns, err := server.NewServer(&server.Options{
		ServerName:             "toolstream",
		DontListen:             true, // only this process connects
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               s.cfg.Dir,
		SyncAlways:             true, // an acknowledgement means: on disk
		MaxPayload:             MaxPayload,
		JetStreamMaxMemory:     maxMemory,
		JetStreamMaxStore:      1 << 60, // Room decides
		DisableJetStreamBanner: true,
	})
	if err != nil {
		return err
	}
	s.ns = ns
	s.ns.SetLoggerV2(serverLog{s.log}, false, false, false)
	s.ns.Start()
	if !s.ns.ReadyForConnections(readyTimeout) {
		return fmt.Errorf("not ready after %v", readyTimeout)
	}
	if !s.ns.JetStreamEnabled() {
		return errors.New("the server could not open its store: see the log")
	}
	s.nc, err = nats.Connect("", nats.InProcessServer(s.ns), nats.Name("toolstream"),
		nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	s.js, err = jetstream.New(s.nc, jetstream.WithPublishAsyncMaxPending(maxPending), jetstream.WithDefaultTimeout(2*ackTime))
	return err
}

// Run waits until ctx ends and then returns nil. It returns an error before that if the bus
// can no longer store anything, because the disk failed or is full: the store has to be
// opened again, in a new process.
func (s *Server) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failure.happened:
		return err
	}
}

// failure is the end of a store that does not answer: after a failed write it does not until
// it is opened again.
type failure struct {
	dir      string
	happened chan error // has room for one
}

func (f *failure) report(cause error) error {
	err := fmt.Errorf("jetstream: the store in %s does not acknowledge: check the disk, then start again: %w", f.dir, cause)
	select {
	case f.happened <- err:
	default: // reported already
	}
	return err
}

// Conn is the connection to the server, for request-reply services. It closes
// with the server.
func (s *Server) Conn() *nats.Conn { return s.nc }

// Close stops the bus, and returns once everything is on disk. Call it once, after the last
// use of the bus.
func (s *Server) Close(ctx context.Context) error {
	close(s.quit)
	s.work.Wait()
	err := s.losses.save(ctx)
	s.shutdown()
	return err
}

// shutdown stops whatever was started.
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

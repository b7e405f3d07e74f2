package jetstream

import (
	"context"
	"crypto/rand"
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

// maxPending is how many messages may wait for their acknowledgement: a batch of
// each writer, of two index versions beside the topics of the flow.
const maxPending = 16 * maxBatch

// Server is the bus. Its methods may be called concurrently.
type Server struct {
	cfg       Config
	log       *slog.Logger
	guard     *guard
	ns        *server.Server
	nc        *nats.Conn
	js        jetstream.JetStream
	positions jetstream.KeyValue
	lock      *os.File
	broken    chan error               // holds why nothing can be stored any more
	opened    map[events.Topic]uint64  // where the topics ended when the bus was opened
	torn      map[events.Topic]tornEnd // of those whose last record cannot be read
	quit      chan struct{}
	work      sync.WaitGroup // ends after quit is closed

	checkpointing sync.Mutex // guards checkpoint
	checkpoint    map[events.Topic]extent

	mu      sync.Mutex // guards what follows
	members map[consumer]chan struct{}
	erased  map[events.Topic]map[uint64]bool            // of topics that are not compacted
	writers map[events.Topic]*stream.Batcher[*nats.Msg] // of all topics that are there
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
		cfg: cfg, log: log, quit: make(chan struct{}), broken: make(chan error, 1),
		opened: map[events.Topic]uint64{}, torn: map[events.Topic]tornEnd{},
		members: map[consumer]chan struct{}{}, erased: map[events.Topic]map[uint64]bool{}, writers: map[events.Topic]*stream.Batcher[*nats.Msg]{},
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
	if err := s.readErased(); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("jetstream: start in %s: %w", cfg.Dir, err)
	}
	if err := s.verifyBuckets(ctx); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if err := s.checkCheckpoint(ctx); err != nil {
		return nil, err
	}
	s.work.Go(s.keepCheckpoint)
	s.work.Go(func() { s.guard.watch(s.quit) })
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
	opts, err := s.cfg.serverOptions()
	if err != nil {
		return err
	}
	s.guard = newGuard(s.cfg.Clients, rand.Text(), s.log)
	opts.CustomClientAuthentication = s.guard
	if s.ns, err = server.NewServer(opts); err != nil {
		return err
	}
	s.guard.ns = s.ns
	if err := s.guard.exports(); err != nil {
		return err
	}
	s.ns.SetLoggerV2(serverLog{s.log}, false, false, false)
	s.ns.Start()
	if !s.ns.ReadyForConnections(readyTimeout) {
		return fmt.Errorf("not ready after %v", readyTimeout)
	}
	if !s.ns.JetStreamEnabled() {
		return errors.New("the server could not open its store: see the log")
	}
	s.nc, err = nats.Connect("", nats.InProcessServer(s.ns), nats.Name("toolstream"),
		nats.Token(s.guard.own), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	s.js, err = jetstream.New(s.nc, jetstream.WithPublishAsyncMaxPending(maxPending), jetstream.WithDefaultTimeout(2*ackTime))
	return err
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
		JetStreamMaxMemory:     maxMemory,
		JetStreamMaxStore:      1 << 60, // room decides
		DisableJetStreamBanner: true,
	}
	return o, c.Clients.listen(o)
}

// Run waits until ctx ends and then returns nil. Before, it returns an error
// once the bus cannot store anything any more, because the disk failed or is
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

// Addr is where clients connect, "" if no port is open.
func (s *Server) Addr() string {
	if s.cfg.Clients.Listen == "" {
		return ""
	}
	return s.ns.ClientURL()
}

// Close ends what still reads and publishes, and returns once everything is
// on disk. It is to be called once, after those who use the bus are done.
func (s *Server) Close(ctx context.Context) error {
	close(s.quit)
	s.work.Wait()
	err := s.writeCheckpoint(ctx)
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

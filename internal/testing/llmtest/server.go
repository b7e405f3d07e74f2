// Package llmtest is a language model of rules and recordings behind the real
// HTTP protocol (POST /v1/chat/completions, GET /v1/models), with faults on
// demand. It serves tests, and people who try toolstream without a key. It
// understands nothing: its answers come from its rules.
//
// It counts its requests and tokens, so that a test can compare them with the
// accounts of the caller. A token is a word: text between white space.
package llmtest

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// Request is one call as the server read it.
type Request struct {
	Model      string
	System     string // all system messages
	User       string // all user messages
	Format     string // json_schema, json_object, or text
	SchemaName string // of json_schema
	Schema     []byte // of json_schema, or with json_object; else nil
	MaxTokens  int
	Number     int // of all calls, from 1
	Times      int // that this same text was asked, from 1
}

// Reply is the answer of a rule.
type Reply struct {
	Content string // of the message
	Refusal string // in its place
	Finish  string // why it ends; "" is stop
	Fault   Fault  // its fault, if any
}

// Config configures a server. Every field is optional.
type Config struct {
	Model string // its name; "scripted"
	Key   string // that callers have to present; "": anyone may call

	// Answer is the rule; nil answers an empty object.
	Answer func(Request) Reply
	// Recordings maps a key that Key finds in a request to its answer. They take
	// precedence over Answer.
	Recordings map[string]string
	KeyOf      func(Request) string

	Faults Faults

	// Features that the server lacks: it refuses or ignores them.
	Unsupported   int  // status of such a refusal; 400
	NoSchema      bool // response_format json_schema
	NoGrammar     bool // a schema with json_object
	NoObject      bool // response_format json_object
	IgnoreFormat  bool // ignores any response_format
	NoMaxTokens   bool // max_tokens
	NoTemperature bool // any temperature except 1

	Latency    time.Duration // before every answer
	SlowEvery  time.Duration // between the bytes of a slow answer; 10 ms
	RetryAfter time.Duration // that a 429 asks for; 1 s
}

// Server is a running server.
type Server struct {
	cfg  Config
	stop context.Context // ends hanging calls
	end  context.CancelFunc

	mu     sync.Mutex // guards the fields below
	number int
	times  map[string]int
	queue  []Fault // of the next calls
	counts Counts

	listener net.Listener
	http     *http.Server
	done     chan error
}

// New returns a server that does not listen: it is an http.Handler.
func New(cfg Config) *Server {
	if cfg.Model == "" {
		cfg.Model = "scripted"
	}
	if cfg.SlowEvery == 0 {
		cfg.SlowEvery = 10 * time.Millisecond
	}
	if cfg.RetryAfter == 0 {
		cfg.RetryAfter = time.Second
	}
	s := &Server{cfg: cfg, times: map[string]int{}, counts: Counts{By: map[string]Tally{}}}
	s.stop, s.end = context.WithCancel(context.Background())
	return s
}

// Listen starts a server on the address; "" is any free port of loopback.
func Listen(ctx context.Context, address string, cfg Config) (*Server, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	s := New(cfg)
	s.listener, s.done = l, make(chan error, 1)
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { s.done <- s.http.Serve(l) }()
	return s, nil
}

// URL is the base of the API, which ends in /v1.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Close ends the server and all its calls. Closing it again does nothing.
func (s *Server) Close() error {
	s.end()
	err := s.http.Close()
	served := <-s.done
	s.done <- served
	if !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Inject makes the next calls fail, with one fault each, before chance decides.
func (s *Server) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, faults...)
}

// Tally counts calls of one outcome and the tokens they reported.
type Tally struct {
	Calls, Prompt, Completion int
}

// Counts is the number of requests and tokens of a server.
type Counts struct {
	Calls int // to chat/completions
	// By counts calls by outcome: the name of the fault, "answered",
	// "abandoned" if the caller left first, or "unsupported", "unauthorized"
	// and "invalid" for requests that the server rejected with a 4xx status.
	By map[string]Tally
	// Prompt and Completion are the tokens of all answers with usage that
	// reached the caller: the totals its accounts should show.
	Prompt, Completion int
}

// Counts returns the counts so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.By = maps.Clone(c.By)
	return c
}

func (s *Server) count(outcome string, prompt, completion int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.counts.By[outcome]
	s.counts.By[outcome] = Tally{t.Calls + 1, t.Prompt + prompt, t.Completion + completion}
	s.counts.Calls++
	s.counts.Prompt += prompt
	s.counts.Completion += completion
}

package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Dependency is a server or service that a process needs.
type Dependency struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty" doc:"Address of the dependency."`
	OK      bool   `json:"ok" doc:"The dependency answers."`
	Problem string `json:"problem,omitempty" doc:"Why the dependency does not answer."`
	Setting string `json:"setting" doc:"Setting that names the dependency."`
}

// Check asks a dependency whether it answers.
type Check struct {
	Name, Address, Setting string
	Ask                    func(context.Context) error
}

// answered returns the result of ask, or an error if ctx ends before.
func answered(ctx context.Context, ask func() error) error {
	done := make(chan error, 1)
	go func() { done <- ask() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.New("no answer yet")
	}
}

// PeerReady asks another process whether it is ready.
func PeerReady(ctx context.Context, client *http.Client, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		return nil
	}
	var said huma.ErrorModel
	if json.NewDecoder(res.Body).Decode(&said) != nil || said.Detail == "" {
		return errors.New(res.Status)
	}
	return errors.New(said.Detail)
}

// Address returns addresses, separated by commas, without user and query, which may be secret.
func Address(addresses string) string {
	var out []string
	for address := range strings.SplitSeq(addresses, ",") {
		if u, err := url.Parse(strings.TrimSpace(address)); err == nil {
			u.User, u.RawQuery = nil, ""
			out = append(out, u.String())
		}
	}
	return strings.Join(out, ",")
}

const (
	healthEvery   = time.Second            // results are cached for so long
	healthTimeout = 2 * time.Second        // until a failure counts
	healthPause   = 300 * time.Millisecond // between two tries
)

// HealthCheck checks whether a dependency answers. It caches the result, and retries until the
// timeout before a failure counts.
type HealthCheck struct {
	Name string
	Ask  func(context.Context) error

	mu    sync.Mutex // guards what follows; held while a caller asks
	asked time.Time
	err   error
}

// Ready returns nil if the dependency answers.
func (c *HealthCheck) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() && time.Since(c.asked) < healthEvery {
		return c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	for c.err = c.Ask(ctx); c.err != nil; c.err = c.Ask(ctx) {
		select {
		case <-time.After(healthPause):
			continue
		case <-ctx.Done():
		}
		c.err = fmt.Errorf("%s does not answer: %w", c.Name, c.err)
		break
	}
	c.asked = time.Now()
	return c.err
}

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

// Dependency is something that a process needs of others.
type Dependency struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty" doc:"Where it is."`
	OK      bool   `json:"ok" doc:"It answers."`
	Problem string `json:"problem,omitempty" doc:"Why it does not."`
	Setting string `json:"setting" doc:"That names it."`
}

// Check is a dependency, and how it is asked whether it answers.
type Check struct {
	Name, Address, Setting string
	Ask                    func(context.Context) error
}

func (c Check) run(ctx context.Context) Dependency {
	d := Dependency{Name: c.Name, Address: c.Address, Setting: c.Setting}
	if err := answered(ctx, func() error { return c.Ask(ctx) }); err != nil {
		d.Problem = err.Error()
	}
	d.OK = d.Problem == ""
	return d
}

// answered is what ask returns, or an error if it does not return before ctx ends.
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

// Address returns addresses, separated by commas, without what may be secret in them.
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

// How often a health check asks at most, and for how long the dependency may fail to
// answer before that counts.
const (
	healthEvery   = time.Second
	healthTimeout = 2 * time.Second
	healthPause   = 300 * time.Millisecond
)

// HealthCheck tells whether a dependency answers. Callers in between get the last
// result. A failure is asked again until the timeout before it counts.
type HealthCheck struct {
	Name string
	Ask  func(context.Context) error

	mu    sync.Mutex // guards the others, and lets one caller ask at a time
	asked time.Time
	err   error
}

// Ready returns nil if the dependency answers.
func (c *HealthCheck) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked.IsZero() || time.Since(c.asked) >= healthEvery {
		c.err = c.ask()
		c.asked = time.Now()
	}
	return c.err
}

func (c *HealthCheck) ask() error {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	for {
		err := c.Ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(healthPause):
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", c.Name, err)
		}
	}
}

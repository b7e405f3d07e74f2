package weaviate

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"
)

// Defaults of a Config.
const (
	DefaultAlias    = "Tool"
	DefaultReplicas = 1
	DefaultBatch    = 100
	DefaultParallel = 4
	DefaultLimit    = 50
	DefaultTimeout  = 2 * time.Minute
	DefaultPatience = 2 * time.Second
	DefaultSweep    = time.Minute
)

// Config says where Weaviate is and how it is used. Zero values take the
// defaults.
type Config struct {
	URL    string // of its REST interface: http://host:port, or https
	GRPC   string // host:port of its gRPC interface, with TLS where URL is https
	APIKey string // sent as a bearer token; empty sends none
	Alias  string // what is searched, and the beginning of the names of classes: a capital, then letters and digits

	Replicas int           // copies of every shard, when a class is made
	Batch    int           // objects in one write, at most
	Parallel int           // writes at once
	Limit    int           // proposals by each question of a search, at least
	Timeout  time.Duration // of one call of a writer
	Patience time.Duration // of a search, before the replica searches for itself
	Sweep    time.Duration // between two looks for what no search finds
}

// aliasForm is what Weaviate takes as a name, without what the names of classes
// add.
var aliasForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,100}$`)

func (c Config) withDefaults() (Config, error) {
	at, err := url.Parse(c.URL)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return c, fmt.Errorf("weaviate: url %q: want http://host:port or https://host:port", c.URL)
	case at.Path != "" && at.Path != "/" || at.RawQuery != "" || at.User != nil:
		return c, fmt.Errorf("weaviate: url %q: want no more than scheme, host and port", at.Redacted())
	case c.GRPC == "":
		return c, errors.New("weaviate: no address of its gRPC interface")
	case min(c.Replicas, c.Batch, c.Parallel, c.Limit) < 0 || min(c.Timeout, c.Patience, c.Sweep) < 0:
		return c, fmt.Errorf("weaviate: a negative limit among replicas %d, batch %d, parallel %d, limit %d, timeout %v, patience %v, sweep %v",
			c.Replicas, c.Batch, c.Parallel, c.Limit, c.Timeout, c.Patience, c.Sweep)
	}
	if c.Alias == "" {
		c.Alias = DefaultAlias
	}
	if !aliasForm.MatchString(c.Alias) {
		return c, fmt.Errorf("weaviate: alias %q: want a capital, then letters and digits", c.Alias)
	}
	c.Replicas = orDefault(c.Replicas, DefaultReplicas)
	c.Batch = orDefault(c.Batch, DefaultBatch)
	c.Parallel = orDefault(c.Parallel, DefaultParallel)
	c.Limit = orDefault(c.Limit, DefaultLimit)
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)
	c.Patience = orDefault(c.Patience, DefaultPatience)
	c.Sweep = orDefault(c.Sweep, DefaultSweep)
	return c, nil
}

func orDefault[T int | time.Duration](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}

// share returns how many objects go into one write, so that all writers have
// some where there are enough.
func (c Config) share(objects int) int {
	const least = 8
	return min(c.Batch, max(least, (objects+c.Parallel-1)/c.Parallel))
}

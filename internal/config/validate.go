package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Validate reports every setting that can not work, by name and value.
func (c Config) Validate() error {
	var errs []error
	if c.Data == "" {
		errs = append(errs, errors.New(`config: data is empty: name a folder`))
	}
	errs = append(errs, listens("listen", c.Listen))
	errs = append(errs, c.NATS.validate(), c.Kafka.validate(), c.Peers.validate(), c.validateVectors(), c.Query.validate(), c.Rerank.validate())
	errs = append(errs, oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error"))
	errs = append(errs, oneOf("log.format", c.Log.Format, "auto", "text", "json"))
	errs = append(errs, c.Embedder.validate(), c.LLM.validate())
	errs = append(errs, c.Trainer.validate())
	return errors.Join(errs...)
}

// prefixes are what names of subjects and of buckets may both begin with.
var prefixes = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

func (n NATS) validate() error {
	if !prefixes.MatchString(n.Prefix) {
		return fmt.Errorf("config: nats.prefix %q is not 1 to 32 letters, digits, - and _", n.Prefix)
	}
	if n.Replicas < 1 || n.Replicas > 5 {
		return fmt.Errorf("config: nats.replicas %d is not 1 to 5", n.Replicas)
	}
	if n.Listen == "" {
		return nil
	}
	if err := listens("nats.listen", n.Listen); err != nil {
		return err
	}
	if n.Token == "" && !Loopback(n.Listen) {
		return fmt.Errorf("config: nats.listen %q is open to other machines: set nats.token, or listen on 127.0.0.1", n.Listen)
	}
	return nil
}

// listens refuses what nobody can listen at.
func listens(name, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("config: %s %q is not host:port", name, address)
	}
	return nil
}

// Loopback reports whether only this machine reaches an address, of host:port.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

func (c Config) validateVectors() error {
	if err := oneOf("query.vectors", c.Query.Vectors, VectorsAuto, VectorsReplica, VectorsWeaviate); err != nil {
		return err
	}
	switch {
	case (c.Weaviate.URL == "") != (c.Weaviate.GRPC == ""):
		return errors.New("config: weaviate.url and weaviate.grpc belong together: set both, or none")
	case c.Query.Vectors == VectorsWeaviate && c.Weaviate.URL == "":
		return errors.New("config: query.vectors is weaviate: set weaviate.url and weaviate.grpc to where it is")
	}
	return nil
}

// maxBudget is half of the time that a search has.
const maxBudget = 2500 * time.Millisecond

func (q Query) validate() error {
	if q.RewriteBudget <= 0 || q.RewriteBudget > maxBudget {
		return fmt.Errorf("config: query.rewrite_budget %s has to be more than 0 and at most %s", q.RewriteBudget, maxBudget)
	}
	if !(q.Shadow >= 0 && q.Shadow <= 1) {
		return fmt.Errorf("config: query.shadow %g has to be between 0 and 1", q.Shadow)
	}
	if !(q.Exploration >= 0 && q.Exploration <= 0.5) {
		return fmt.Errorf("config: query.exploration %g has to be between 0 and 0.5", q.Exploration)
	}
	return oneOf("query.rerank", q.Rerank, "auto", "off", "single", "multi")
}

func (k Kafka) validate() error {
	var errs []error
	for _, broker := range strings.Split(k.Brokers, ",") {
		if _, _, err := net.SplitHostPort(strings.TrimSpace(broker)); err != nil {
			errs = append(errs, fmt.Errorf("config: kafka.brokers: %q is not host:port", broker))
		}
	}
	if k.Partitions < 1 || k.Replication < 0 {
		errs = append(errs, fmt.Errorf("config: kafka.partitions %d has to be more than 0, kafka.replication %d must not be below 0", k.Partitions, k.Replication))
	}
	if k.Session < time.Second || k.Session > 30*time.Minute {
		errs = append(errs, fmt.Errorf("config: kafka.session %s has to be from 1s to 30m", k.Session))
	}
	errs = append(errs, oneOf("kafka.sasl", k.SASL, "none", "plain", "scram-sha-256", "scram-sha-512"))
	if k.SASL != "none" && (k.Username == "" || k.Password == "") {
		errs = append(errs, fmt.Errorf("config: kafka.sasl is %s: set kafka.username and kafka.password", k.SASL))
	}
	return errors.Join(errs...)
}

func (p Peers) validate() error {
	for name, address := range map[string]string{"ingest": p.Ingest, "query": p.Query, "trainer": p.Trainer} {
		if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("config: peers.%s %q is not an address such as http://host:8665", name, address)
		}
	}
	return nil
}

func (e Embedder) validate() error {
	for _, prefix := range []string{ONNXPrefix, StaticPrefix} {
		if name, ok := strings.CutPrefix(e.Model, prefix); ok && name != "" {
			return nil
		}
	}
	if err := oneOf("embedder.model", e.Model, StaticModel, "http", ONNXPrefix+"NAME", StaticPrefix+"FILE"); err != nil || e.Model != "http" {
		return err
	}
	switch {
	case e.URL == "":
		return errors.New("config: embedder.model is http: set embedder.url to where the endpoint is")
	case e.Name == "":
		return errors.New("config: embedder.model is http: set embedder.name to the model that the endpoint is asked for")
	case e.Dimensions < 0 || e.Batch <= 0 || e.Parallel <= 0 || e.Timeout <= 0:
		return fmt.Errorf("config: embedder.dimensions %d must not be below 0, embedder.batch %d, embedder.parallel %d and embedder.timeout %s have to be more than 0", e.Dimensions, e.Batch, e.Parallel, e.Timeout)
	}
	return nil
}

func (t Trainer) validate() error {
	if t.Settle <= 0 || t.Publish <= 0 || t.MinPairs <= 0 || t.Sample <= 0 || t.HalfLife <= 0 {
		return fmt.Errorf("config: trainer.settle %s, trainer.publish %s, trainer.min_pairs %d, trainer.sample %d and trainer.half_life %s have to be more than 0", t.Settle, t.Publish, t.MinPairs, t.Sample, t.HalfLife)
	}
	return nil
}

func oneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("config: %s is %q; it is one of %s", name, value, strings.Join(allowed, ", "))
}

package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/quota"
)

// Validate returns an error for every invalid setting, with name and value.
func (c Config) Validate() error {
	var errs []error
	for _, s := range settings() {
		if err := s.check(reflect.ValueOf(c).FieldByIndex(s.field)); err != nil {
			errs = append(errs, fmt.Errorf("config: %s %w", s.Name, err))
		}
	}
	for _, err := range append(c.validatePlaces(),
		c.Auth.Certificates.validate(c.TLS), c.Auth.validate(), c.Limits.validate(), c.Kafka.validate(), c.Rerank.validate(), c.Embedder.validate(), c.LLM.validate(), c.Crawl.validate(),
		c.validateSources(), c.Calls.validate(),
	) {
		if err != nil {
			errs = append(errs, fmt.Errorf("config: %w", err))
		}
	}
	return errors.Join(errs...)
}

// namePrefix matches prefixes that are valid for the names of both subjects and buckets.
var namePrefix = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// validatePlaces returns the errors in where the process keeps its data, listens, and finds its
// servers.
func (c Config) validatePlaces() (errs []error) {
	refuse := func(invalid bool, format string, args ...any) {
		if invalid {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	_, port, err := net.SplitHostPort(c.Listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	refuse(c.Data == "", "data is empty: name a folder")
	refuse(err != nil, "listen %q is not host:port", c.Listen)
	refuse((c.TLS.CertFile == "") != (c.TLS.KeyFile == ""), "tls.cert_file and tls.key_file belong together: set both or neither")
	refuse(!namePrefix.MatchString(c.NATS.Prefix), "nats.prefix %q is not 1 to 32 letters, digits, - and _", c.NATS.Prefix)
	refuse((c.Weaviate.URL == "") != (c.Weaviate.GRPC == ""), "weaviate.url and weaviate.grpc belong together: set both or neither")
	refuse(c.Query.Vectors == VectorsWeaviate && c.Weaviate.URL == "", "query.vectors is weaviate: set weaviate.url and weaviate.grpc")
	return errs
}

// check returns why a value is invalid by the tags of its setting.
func (s setting) check(v reflect.Value) error {
	text := fmt.Sprint(v.Interface())
	if allowed := s.tag.Get("in"); allowed != "" {
		return oneOf(text, strings.Split(allowed, ",")...)
	}
	if u, err := url.Parse(text); s.tag.Get("url") == "true" && text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("must be a URL such as https://host/v1") // the value may contain a key
	}
	var x float64
	switch {
	case v.CanInt():
		x = float64(v.Int())
	case v.CanFloat():
		x = v.Float()
	default:
		return nil
	}
	above, from, to := s.tag.Get("above"), s.tag.Get("from"), s.tag.Get("to")
	if !math.IsNaN(x) && (above == "" || x > bound(above)) && (from == "" || x >= bound(from)) && x <= bound(cmp.Or(to, "1e18")) {
		return nil
	}
	var want []string
	for _, b := range [][2]string{{"more than ", above}, {"at least ", from}, {"at most ", to}} {
		if b[1] != "" {
			want = append(want, b[0]+b[1])
		}
	}
	return fmt.Errorf("%s must be %s", text, cmp.Or(strings.Join(want, " and "), "a smaller number"))
}

// bound reads a number, or a time, of a tag.
func bound(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	x, _ := strconv.ParseFloat(text, 64) // tags are valid
	return x
}

func oneOf(value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("is %q; it is one of %s", value, strings.Join(allowed, ", "))
}

func (a Auth) validate() error {
	if _, err := a.TrustedProxies(); err != nil {
		return err
	}
	if a.Mode == "none" && !a.Open() {
		return errors.New("auth.mode is none, but auth.tokens_file, auth.oidc.issuer or auth.certificates.ca_file is set: remove one of the two")
	}
	switch {
	case a.OIDC.ClientSecretFile != "" && a.OIDC.ClientID == "":
		return errors.New("auth.oidc.client_secret_file is set: set auth.oidc.client_id")
	case a.OIDC.ClientID != "" && a.OIDC.Issuer == "":
		return errors.New("auth.oidc.client_id is set: set auth.oidc.issuer to its provider")
	case a.OIDC.Issuer == "":
		return nil
	}
	if !Confidential(a.OIDC.Issuer) {
		return fmt.Errorf("auth.oidc.issuer %q is not https: anyone on the way could forge tokens", a.OIDC.Issuer)
	}
	for name, value := range map[string]string{"audience": a.OIDC.Audience, "subject_claim": a.OIDC.SubjectClaim, "groups_claim": a.OIDC.GroupsClaim} {
		if value == "" {
			return fmt.Errorf("auth.oidc.issuer is set: set auth.oidc.%s", name)
		}
	}
	if len(a.OIDC.Algorithms) == 0 {
		return errors.New("auth.oidc.algorithms is empty")
	}
	for _, name := range a.OIDC.Algorithms {
		if err := oneOf(name, "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"); err != nil {
			return fmt.Errorf("auth.oidc.algorithms %w", err)
		}
	}
	_, err := a.OIDC.RoleOf()
	return err
}

func (c Certificates) validate(server TLS) error {
	switch {
	case c.CAFile == "" && (len(c.Callers) > 0 || len(c.Proxies) > 0):
		return errors.New("auth.certificates.callers or proxies is set: set auth.certificates.ca_file to the authorities of client certificates")
	case c.CAFile == "":
		return nil
	case server.CertFile == "":
		return errors.New("auth.certificates.ca_file is set: set tls.cert_file and tls.key_file, because client certificates need TLS")
	case len(c.Callers) == 0:
		return errors.New("auth.certificates.ca_file is set: set auth.certificates.callers, because every other certificate is refused")
	}
	return nil
}

// Open reports whether authentication is off.
func (a Auth) Open() bool {
	return a.TokensFile == "" && a.OIDC.Issuer == "" && a.Certificates.CAFile == ""
}

// RoleOf returns the roles by group. The name of a group may contain a =.
func (o OIDC) RoleOf() (map[string]identity.Role, error) {
	roles := map[string]identity.Role{}
	for _, entry := range o.Roles {
		at := strings.LastIndexByte(entry, '=')
		if at < 1 || !slices.Contains(identity.Roles(), identity.Role(entry[at+1:])) {
			return nil, fmt.Errorf("auth.oidc.roles: %q is not GROUP=ROLE with a role of %v", entry, identity.Roles())
		}
		roles[entry[:at]] = identity.Role(entry[at+1:])
	}
	return roles, nil
}

// ClientSecret returns the secret of the client, "" without one.
func (o OIDC) ClientSecret() (string, error) {
	if o.ClientSecretFile == "" {
		return "", nil
	}
	return oneLine("auth.oidc.client_secret_file", o.ClientSecretFile)
}

// Quotas are the limits of tenants as numbers.
type Quotas struct{ Requests, Searches, Feedback, Calls, Bytes, SubjectShare, Tools, Sources quota.Quota }

// Quotas reads the limits. The error names the setting.
func (l Limits) Quotas() (q Quotas, err error) {
	for _, of := range []struct {
		name string
		list []string
		into *quota.Quota
	}{
		{"requests", l.Requests, &q.Requests}, {"searches", l.Searches, &q.Searches}, {"feedback", l.Feedback, &q.Feedback}, {"calls", l.Calls, &q.Calls}, {"bytes", l.Bytes, &q.Bytes},
		{"subject_share", l.SubjectShare, &q.SubjectShare}, {"tools", l.Tools, &q.Tools}, {"sources", l.Sources, &q.Sources},
	} {
		if *of.into, err = quota.Parse(of.list); err != nil {
			return Quotas{}, fmt.Errorf("limits.%s: %w", of.name, err)
		}
	}
	return q, nil
}

func (l Limits) validate() error {
	q, err := l.Quotas()
	for _, percent := range q.SubjectShare {
		if percent < 1 || percent > 100 {
			err = fmt.Errorf("limits.subject_share: %d is not 1 to 100", percent)
		}
	}
	if l.InFlight > 0 && l.InFlight < inflight.Least {
		err = errors.Join(err, fmt.Errorf("limits.in_flight: %d is less than %d (64 MiB), which an export needs; 0 is the default", l.InFlight, inflight.Least))
	}
	return err
}

// Guarded returns an error if other machines can reach the server without authentication, and
// auth.mode does not allow that. Only commands that listen need it.
func (c Config) Guarded() error {
	if c.Auth.Mode == "none" || !c.Auth.Open() || Loopback(c.Listen) {
		return nil
	}
	return fmt.Errorf("listen %q is open to other machines: set auth.tokens_file, and make tokens with `toolstream token create`, or auth.oidc, or auth.certificates; or listen on 127.0.0.1; or set auth.mode to none, and everyone who reaches the server is an admin", c.Listen)
}

// Confidential reports whether requests to a URL are safe from eavesdroppers: by https, or because
// they stay on this machine.
func Confidential(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && Loopback(net.JoinHostPort(u.Hostname(), "0")))
}

// Loopback reports whether only this machine reaches an address in the form host:port.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

func (k Kafka) validate() error {
	for broker := range strings.SplitSeq(k.Brokers, ",") {
		if _, _, err := net.SplitHostPort(strings.TrimSpace(broker)); err != nil {
			return fmt.Errorf("kafka.brokers: %q is not host:port", broker)
		}
	}
	if k.SASL != "none" && (k.Username == "" || k.Password == "") {
		return fmt.Errorf("kafka.sasl is %s: set kafka.username and kafka.password", k.SASL)
	}
	return nil
}

func (e Embedder) validate() error {
	for _, prefix := range []string{ONNXPrefix, StaticPrefix} {
		if name, ok := strings.CutPrefix(e.Model, prefix); ok && name != "" {
			return nil
		}
	}
	if err := oneOf(e.Model, StaticModel, "http", ONNXPrefix+"NAME", StaticPrefix+"FILE"); err != nil {
		return fmt.Errorf("embedder.model %w", err)
	}
	switch {
	case e.Model == "http" && e.URL == "":
		return errors.New("embedder.model is http: set embedder.url to the endpoint")
	case e.Model == "http" && e.Name == "":
		return errors.New("embedder.model is http: set embedder.name to a model of the endpoint")
	}
	return nil
}

func (r Rerank) validate() error {
	if name, ok := strings.CutPrefix(r.Model, ONNXPrefix); !ok || name == "" {
		if err := oneOf(r.Model, RerankHTTP, RerankOff, ONNXPrefix+"NAME"); err != nil {
			return fmt.Errorf("rerank.model %w", err)
		}
	}
	switch {
	case r.Model != RerankHTTP && r.URL != "":
		return errors.New("rerank.url is set: set rerank.model to http")
	case r.Model == RerankHTTP && r.URL == "":
		return errors.New("rerank.model is http: set rerank.url to the cross-encoder")
	case r.Model == RerankHTTP && r.Form == "cohere" && r.Name == "":
		return errors.New("rerank.model is http: set rerank.name to a model of the endpoint")
	}
	return nil
}

func (l LLM) validate() error {
	switch {
	case l.APIKey != "" && l.APIKeyFile != "":
		return errors.New("llm.api_key and llm.api_key_file are both set: set one")
	case l.BaseURL != "" && l.Model == "":
		return errors.New("llm.base_url is set: set llm.model to a model of the endpoint")
	case l.DailyCost > 0 && l.PricePrompt == 0 && l.PriceCompletion == 0:
		return fmt.Errorf("llm.daily_cost is %v: set llm.price_prompt and llm.price_completion", l.DailyCost)
	}
	return nil
}

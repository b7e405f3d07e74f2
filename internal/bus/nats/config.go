package nats

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// connectTimeout limits one attempt to connect to one server, drainTimeout the work at the end.
const (
	connectTimeout = 5 * time.Second
	drainTimeout   = 30 * time.Second
)

// ConnectConfig holds the servers' addresses and the client's credentials, at most one kind.
type ConnectConfig struct {
	URL  string // of one or more servers, separated by commas
	Name string // of this process in the server's lists

	CredentialsFile string // JWT and seed, as nsc writes them; read again at each connect
	SeedFile        string // NKey
	Token           string

	CAFile            string // of the authorities that are trusted; the system's
	CertFile, KeyFile string // of this client, if the server requires it
}

func (c ConnectConfig) validate() error {
	for server := range strings.SplitSeq(c.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil || u.Host == "" {
			// The parser's error would repeat the address, secrets included.
			return errors.New("nats: an address has to look like nats://host:4222 or tls://host:4222, several are separated by commas")
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("nats: address %s: %q is not nats, tls, ws or wss", u.Host, u.Scheme)
		}
	}
	kinds := 0
	for _, given := range []string{c.CredentialsFile, c.SeedFile, c.Token} {
		if given != "" {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return errors.New("nats: give one of credentials file, seed file and token")
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("nats: a client certificate and its key belong together")
	}
	return nil
}

// credentials returns the options of the credentials. Files are read now, so
// that a wrong one is found at the start and not when a server is there.
func (c ConnectConfig) credentials() ([]nats.Option, error) {
	switch {
	case c.CredentialsFile != "":
		if _, err := os.ReadFile(c.CredentialsFile); err != nil {
			return nil, fmt.Errorf("nats: credentials: %w", err)
		}
		return []nats.Option{nats.UserCredentials(c.CredentialsFile)}, nil
	case c.SeedFile != "":
		option, err := nats.NkeyOptionFromSeed(c.SeedFile)
		if err != nil {
			return nil, fmt.Errorf("nats: seed file %s: %w", c.SeedFile, err)
		}
		return []nats.Option{option}, nil
	case c.Token != "":
		return []nats.Option{nats.Token(c.Token)}, nil
	}
	return nil, nil
}

// tls returns the options of an encrypted connection. Without settings it returns no options; a
// server that demands TLS still gets it. The files are read again at each connect, so that
// renewed ones serve without a restart.
func (c ConnectConfig) tls() ([]nats.Option, error) {
	var certificate nats.TLSCertHandler
	var authorities nats.RootCAsHandler
	if c.CertFile != "" {
		certificate = c.certificate
	}
	if c.CAFile != "" {
		authorities = c.authorities
	}
	if certificate == nil && authorities == nil {
		return nil, nil
	}
	var opened nats.Options
	option := nats.ClientTLSConfig(certificate, authorities)
	return []nats.Option{option}, option(&opened) // it reads the files
}

func (c ConnectConfig) authorities() (*x509.CertPool, error) {
	text, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("nats: authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("nats: authorities: no certificate in %s", c.CAFile)
	}
	return pool, nil
}

func (c ConnectConfig) certificate() (tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return cert, fmt.Errorf("nats: client certificate: %w", err)
	}
	return cert, nil
}

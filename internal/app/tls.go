package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"github.com/toolstream/toolstream/internal/certfile"
)

// openTLS reads by what the process proves itself, and by what it checks its peers.
func (p *process) openTLS() error {
	if p.cfg.TLS.CertFile != "" {
		pair, err := certfile.OpenPair("tls.cert_file", p.cfg.TLS.CertFile, p.cfg.TLS.KeyFile, p.log)
		if err != nil {
			return err
		}
		p.pair = &pair
	}
	authorities, err := certfile.Pool(p.cfg.Peers.CAFile)
	if err != nil {
		return fmt.Errorf("peers.ca_file: %w", err)
	}
	p.toPeers = http.DefaultTransport.(*http.Transport).Clone()
	p.toPeers.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}
	if p.pair != nil {
		p.toPeers.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return p.pair.Current(), nil
		}
	}
	return nil
}

// serverTLS returns how the server speaks TLS, or nil.
func (p *process) serverTLS() *tls.Config {
	if p.pair == nil {
		return nil
	}
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.pair.Current(), nil },
	}
	if p.cfg.Auth.Certificates.CAFile != "" {
		c.ClientAuth = tls.RequestClientCert // each request is checked, by the authorities and at the time of it
	}
	return c
}

// Client speaks to the process itself, whatever name its certificate is for.
func (p *process) Client() *http.Client {
	if p.pair == nil {
		return http.DefaultClient
	}
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.TLSClientConfig = &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(c tls.ConnectionState) error {
			if !c.PeerCertificates[0].Equal(p.pair.Current().Leaf) {
				return errors.New("another server answers at the address of this one")
			}
			return nil
		},
	}
	return &http.Client{Transport: own}
}

package files

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
)

// Pair is a certificate and its key, as their files are now.
type Pair struct {
	*Cached[*tls.Certificate]
}

// OpenPair reads a certificate, followed by its intermediates, and its key. Name is the common
// name of the settings for the two files.
func OpenPair(name, cert, key string, log *slog.Logger) (Pair, error) {
	read := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("the certificate %s and the key %s: %w", cert, key, err)
		}
		return &pair, nil
	}
	cached, err := OpenCached(name, KeepsLast, log, read, cert, key)
	if err != nil {
		return Pair{}, fmt.Errorf("%s: %w", name, err)
	}
	return Pair{cached}, nil
}

// Authorities returns the certificates of a file. It refuses a file that has no certificates or
// any other content.
func Authorities(path string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" {
			err = errors.New("it is no certificate")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: a block of the type %q: %w", path, block.Type, err)
		}
		all = append(all, cert)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return all, nil
}

// Pool returns the authorities of the file at path, or nil, the system's, if path is empty.
func Pool(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	all, err := Authorities(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, cert := range all {
		pool.AddCert(cert)
	}
	return pool, nil
}

// Package certfile reads certificates and keys from files in PEM.
package certfile

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/toolstream/toolstream/internal/freshfile"
)

// Pair is a certificate and its key, as their files are now.
type Pair struct {
	*freshfile.Files[*tls.Certificate]
}

// OpenPair reads a certificate, with those between it and its authority behind it, and its
// key. Name is that of the settings that name the files.
func OpenPair(name, cert, key string, log *slog.Logger) (Pair, error) {
	read := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("the certificate %s and the key %s: %w", cert, key, err)
		}
		return &pair, nil
	}
	files, err := freshfile.Open(name, freshfile.Holds, log, read, cert, key)
	if err != nil {
		return Pair{}, fmt.Errorf("%s: %w", name, err)
	}
	return Pair{files}, nil
}

// Authorities returns the certificates of a file. It refuses a file without any, and one
// that holds anything else.
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

// Pool returns those certificates as authorities, or nil, the system's, where path is empty.
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

package httpserver

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Certificates returns the caller of a certificate, given with its intermediates after it. It
// verifies the certificate: the connection only proves that the client has the key.
type Certificates interface {
	Caller(chain []*x509.Certificate) (identity.Caller, error)
	PassesOn(chain []*x509.Certificate) bool // in the header Client-Cert, for others
}

// Header fields with the client's certificate from a proxy (RFC 9440).
const (
	clientCert      = "Client-Cert"
	clientCertChain = "Client-Cert-Chain"
)

type chainKey struct{}

// certified returns whose certificate a request has, and the context of the request with the
// certificate, so that it can be passed on.
func certified(known Certificates, r *http.Request) (context.Context, identity.Caller, error) {
	chain := r.TLS.PeerCertificates
	if r.Header.Get(clientCert) != "" && known.PassesOn(chain) {
		var err error
		if chain, err = passedOn(r.Header); err != nil {
			return nil, identity.Caller{}, err
		}
	}
	caller, err := known.Caller(chain)
	return context.WithValue(r.Context(), chainKey{}, chain), caller, err
}

// passedOn reads the certificates of a proxy's header.
func passedOn(h http.Header) (chain []*x509.Certificate, err error) {
	fields := h.Get(clientCert)
	if more := h.Values(clientCertChain); len(more) > 0 {
		fields += "," + strings.Join(more, ",")
	}
	for field := range strings.SplitSeq(fields, ",") {
		field = strings.TrimSpace(field)
		if len(field) < 2 || field[0] != ':' || field[len(field)-1] != ':' { // RFC 8941, section 3.3.5
			return nil, fmt.Errorf("%s: it is no sequence of bytes", clientCert)
		}
		raw, err := base64.StdEncoding.DecodeString(field[1 : len(field)-1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clientCert, err)
		}
		cert, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clientCert, err)
		}
		chain = append(chain, cert)
	}
	return chain, nil
}

// passOn replaces the caller's certificate fields in a request to a peer by the certificate that
// authenticated the caller here.
func passOn(out http.Header, ctx context.Context) {
	out.Del(clientCert)
	out.Del(clientCertChain)
	chain, _ := ctx.Value(chainKey{}).([]*x509.Certificate)
	for i, cert := range chain {
		name := clientCertChain
		if i == 0 {
			name = clientCert
		}
		out.Add(name, ":"+base64.StdEncoding.EncodeToString(cert.Raw)+":")
	}
}

// keepCredential keeps the caller's credential in a request to a peer. If the caller lists
// Authorization in Connection, the proxy drops the field, and the peer would authenticate the
// request as this service, by its certificate.
func keepCredential(out, in http.Header) {
	if credential, ok := in["Authorization"]; ok {
		out["Authorization"] = credential
	}
}

// certificateError is why the certificate of a request names no caller.
type certificateError struct{ error }

var errNoProof = errors.New("a valid bearer token or client certificate is required")

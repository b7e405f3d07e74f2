package httpserver

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolstream/toolstream/internal/identity"
)

// Certificates tells whose a certificate is, with those between it and its authority behind
// it. It checks the certificate, of which a connection only proves that the client has its key.
type Certificates interface {
	Caller(chain []*x509.Certificate) (identity.Caller, error)
	PassesOn(chain []*x509.Certificate) bool // in the header Client-Cert, for others
}

// What a proxy says of the client's certificate (RFC 9440).
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

// passOn says in a request to a peer by which certificate its caller is known here, and
// nothing that the caller itself says of that.
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

// keepCredential has the peer see the credential by which the caller is known here. The caller
// may name that field among those that end here (Connection): the peer would take the request
// for one of this service, by its certificate.
func keepCredential(out, in http.Header) {
	if credential, ok := in["Authorization"]; ok {
		out["Authorization"] = credential
	}
}

// certificateError is why the certificate of a request names no caller.
type certificateError struct{ error }

var errNoProof = errors.New("a valid bearer token or client certificate is required")

package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"
)

// Certificate returns a self-signed certificate for loopback, and its key, in PEM.
func Certificate(t testing.TB) (cert, key []byte) {
	t.Helper()
	private := newKey(t)
	template := newTemplate()
	template.IsCA, template.BasicConstraintsValid = true, true
	return sign(t, template, template, private, private), encoded(t, private)
}

// Authority issues certificates.
type Authority struct {
	PEM []byte // its own certificate

	own *x509.Certificate
	key *ecdsa.PrivateKey
}

// NewAuthority makes an authority below another authority, or a root if above is nil.
func NewAuthority(t testing.TB, above *Authority) *Authority {
	t.Helper()
	private := newKey(t)
	template := newTemplate()
	template.Subject, template.IPAddresses = pkix.Name{CommonName: "authority"}, nil
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a := &Authority{key: private}
	if above == nil {
		a.PEM = sign(t, template, template, private, private)
	} else {
		a.PEM = sign(t, template, above.own, private, above.key)
	}
	block, _ := pem.Decode(a.PEM)
	var err error
	if a.own, err = x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	return a
}

// Issue returns a certificate for loopback and its key, in PEM, with URIs such as a SPIFFE
// id, and changed before it is signed, unless change is nil.
func (a *Authority) Issue(t testing.TB, change func(*x509.Certificate), uris ...string) (cert, key []byte) {
	t.Helper()
	private := newKey(t)
	template := newTemplate()
	template.KeyUsage = x509.KeyUsageDigitalSignature
	for _, uri := range uris {
		parsed, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, parsed)
	}
	if change != nil {
		change(template)
	}
	return sign(t, template, a.own, private, a.key), encoded(t, private)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newTemplate() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

func sign(t testing.TB, template, parent *x509.Certificate, private, parents *ecdsa.PrivateKey) []byte {
	t.Helper()
	signed, err := x509.CreateCertificate(rand.Reader, template, parent, private.Public(), parents)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
}

func encoded(t testing.TB, private *ecdsa.PrivateKey) []byte {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

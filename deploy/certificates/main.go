// Command certificates prints the certificate authorities that Mozilla trusts, as PEM: those
// of the image, by go.sum the same wherever it is built.
package main

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "certificates:", err)
		os.Exit(1)
	}
}

func write() error {
	out := bufio.NewWriter(os.Stdout)
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // Mozilla trusts it for a part only, which PEM cannot say
		}
		if err := pem.Encode(out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return err
		}
	}
	return out.Flush()
}

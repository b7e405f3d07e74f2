package record

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"

	"github.com/toolstream/toolstream/pkg/schema"
)

// A search id is, in base32, a nonce, how many tools and providers the search showed, a
// digest of each of their ids, and a checksum over all of that and the tenant. So every replica
// can check, without asking the replica that searched, whether feedback is about a search of
// its tenant and about a result of that search. It is not a signature: it detects mistakes, and
// the trainer compares feedback with the recorded impression.
const (
	nonceSize    = 8 // bytes
	digestSize   = 2
	checksumSize = 4
	maxDigests   = 20             // searches that show more name none of their results
	unnamed      = maxDigests + 1 // in place of the number of results
)

var idEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// SearchID returns the id of a search that showed these results.
func SearchID(tenant string, nonce uint64, shown []schema.Shown) string {
	raw := binary.BigEndian.AppendUint64(nil, nonce)
	var ids []string
	for i := range shown {
		ids = append(ids, shown[i].ID)
		for _, other := range shown[i].Also {
			ids = append(ids, other.ID)
		}
	}
	if len(ids) > maxDigests {
		raw = append(raw, unnamed)
	} else {
		raw = append(raw, byte(len(ids)))
		for _, id := range ids {
			raw = append(raw, digest(raw[:nonceSize], id)...)
		}
	}
	return idEncoding.EncodeToString(append(raw, checksum(tenant, raw)...))
}

// shownBy describes the results of a search, as its id has them.
type shownBy struct {
	nonce   []byte
	digests []byte
	any     bool // they are not named
}

// readSearchID reads an id, and reports whether a search of the tenant can have it.
func readSearchID(tenant, id string) (shown shownBy, ok bool) {
	raw, err := idEncoding.DecodeString(id)
	if err != nil || len(raw) < nonceSize+1+checksumSize || idEncoding.EncodeToString(raw) != id {
		return shownBy{}, false
	}
	body, sum := raw[:len(raw)-checksumSize], raw[len(raw)-checksumSize:]
	if !bytes.Equal(sum, checksum(tenant, body)) {
		return shownBy{}, false
	}
	return shownBy{body[:nonceSize], body[nonceSize+1:], body[nonceSize] == unnamed}, true
}

// has reports whether the search may have shown an entity. A few in ten thousand other ids
// pass, too.
func (s shownBy) has(id string) bool {
	want := digest(s.nonce, id)
	for i := 0; i < len(s.digests); i += digestSize {
		if bytes.Equal(s.digests[i:i+digestSize], want) {
			return true
		}
	}
	return s.any
}

func digest(nonce []byte, id string) []byte {
	sum := sha256.Sum256(append(bytes.Clone(nonce), id...))
	return sum[:digestSize]
}

func checksum(tenant string, body []byte) []byte {
	sum := sha256.Sum256(append([]byte(tenant+"/"), body...))
	return sum[:checksumSize]
}

// RandomNonce returns a number that cannot be guessed.
func RandomNonce() uint64 {
	var b [nonceSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

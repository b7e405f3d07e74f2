package query

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// ErrUnreported is wrapped by the error for feedback that the bus does not take now.
var ErrUnreported = errors.New("feedback cannot be taken now")

// Feedback accepts what an agent of a tenant did with a result: once it returns nil, the
// event is durable. Its error is a *schema.Invalid for an event that is not
// acceptable, else it wraps ErrUnreported.
func (s *Service) Feedback(ctx context.Context, of string, f schema.Feedback) error {
	f.Tenant, f.Credential, f.Time = of, identity.From(ctx).Subject, s.deps.Now().UTC()
	if reason, err := s.checkFeedback(&f); err != nil {
		s.metrics.unfit.WithLabelValues(reason).Inc()
		return err
	}
	f.ID = f.Identity()
	value, err := events.Encode(&f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	ctx, span := tracing.Begin(ctx, "send "+string(events.FeedbackTopic), trace.WithSpanKind(trace.SpanKindProducer))
	span.SetAttributes(tracing.Search.String(f.SearchID))
	err = s.deps.Publisher.Publish(ctx, message(events.FeedbackTopic, of, f.SearchID, value, headersOf(ctx, events.FeedbackSchema)))
	tracing.End(span, err)
	if err != nil {
		return fmt.Errorf("%w: publish: %w", ErrUnreported, err)
	}
	s.metrics.feedback.WithLabelValues(string(f.Event)).Inc()
	return nil
}

// checkFeedback returns why feedback is not acceptable, and the reason as metrics
// name it. What only the trainer can know, such as the age of the search, is left
// to it.
func (s *Service) checkFeedback(f *schema.Feedback) (reason string, err error) {
	if err := f.Validate(); err != nil {
		return unfitInvalid, err
	}
	shown, ok := readSearchID(f.Tenant, f.SearchID)
	switch {
	case f.Event == schema.Forget:
		return unfitInvalid, &schema.Invalid{Path: "/event", Value: string(f.Event), Reason: "is not reported: see POST /v1/weights:forget"}
	case !ok:
		return unfitSearch, &schema.Invalid{Path: "/search_id", Value: schema.Quote(f.SearchID), Reason: "is not the id of a search of this tenant"}
	case !shown.has(f.ToolID):
		return unfitNotShown, &schema.Invalid{Path: "/tool_id", Value: schema.Quote(f.ToolID), Reason: "was not among the results of this search"}
	case s.deleted(f.Tenant, f.ToolID):
		return unfitDeleted, &schema.Invalid{Path: "/tool_id", Value: schema.Quote(f.ToolID), Reason: "was deleted"}
	}
	return "", nil
}

// Showed reports whether a search of the tenant has that id, and may have shown a tool or
// provider.
func (s *Service) Showed(tenant, search, id string) bool {
	shown, ok := readSearchID(tenant, search)
	return ok && shown.has(id)
}

// deleted reports whether a tool was deleted since it was shown. A provider may have
// the same id.
func (s *Service) deleted(tenant, id string) bool {
	now, release := s.snapshot()
	defer release()
	_, gone, _ := now.Catalogue.Version(schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: id})
	_, providerGone, provider := now.Catalogue.Version(schema.Ref{Tenant: tenant, Kind: schema.KindProvider, ID: id})
	return gone && (!provider || providerGone)
}

// A search id is, in base32, a nonce, how many tools and providers the search showed, a
// digest of each of their ids, and a checksum over all of that and the tenant. So every replica
// can tell, without asking the one that searched, whether feedback is about a search of
// its tenant and about something that the search showed. It is no signature: it finds
// mistakes, and the trainer judges by what it recorded.
const (
	nonceSize    = 8 // bytes
	digestSize   = 2
	checksumSize = 4
	maxDigests   = 20             // searches that show more name none of their results
	unnamed      = maxDigests + 1 // in place of the number of results
)

var idEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// searchID returns the id of a search that showed these results.
func searchID(tenant string, nonce uint64, shown []schema.Shown) string {
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

// shownBy is what a search id says of the results of its search.
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

// has reports whether the search may have shown an entity. Of those that it did not
// show, one in some thousands passes.
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

// randomNonce returns a number that cannot be guessed.
func randomNonce() uint64 {
	var b [nonceSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

package ingest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// bodyTimeout is how long a client may keep quiet in the middle of its body.
const bodyTimeout = 30 * time.Second

// acceptedTypes is what a 415 names.
const acceptedTypes = "application/json, application/x-ndjson, application/yaml, text/*, application/octet-stream"

// overLimit is the error for a body that is too long.
type overLimit struct {
	what  string
	limit int64
}

func (e *overLimit) Error() string { return fmt.Sprintf("%s: at most %d bytes", e.what, e.limit) }

// body is the body of a request, to be read by the handler.
type body struct{ hc huma.Context }

// Resolve keeps the request, so that what is wrong with its body is answered
// as what it is and not as a validation that failed.
func (b *body) Resolve(hc huma.Context) []error {
	b.hc = hc
	return nil
}

// read reads at most limit bytes, decompressed. Errors are problems.
func (b *body) read(limit int64) ([]byte, error) {
	r, err := open(b.hc, limit, limit)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, bodyProblem(err)
	}
	return data, nil
}

// open checks the headers of a body and returns it decompressed, also where
// only its first bytes say that it is compressed. Reading fails beyond most
// bytes, on the wire or decompressed, and where a compressed body becomes
// longer than inflated and suspiciously much longer than it was.
func open(hc huma.Context, inflated, most int64) (io.Reader, error) {
	if err := checkType(hc.Header("Content-Type")); err != nil {
		return nil, err
	}
	wire := &bounded{r: &patient{hc}, limit: most, what: "body over limit"}
	var r io.Reader = wire
	switch encoding := strings.ToLower(strings.TrimSpace(hc.Header("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, bodyProblem(err)
		}
		r = &inflation{r: z, wire: wire, floor: inflated, most: most}
	default:
		return nil, withHeader(problem(http.StatusUnsupportedMediaType, "", "unknown content encoding, accepted are identity and gzip"), "Accept-Encoding", "gzip")
	}
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) { // what is wrong comes again with the first read
		return in, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, bodyProblem(err)
	}
	return &inflation{r: z, wire: wire, floor: inflated, most: most}, nil
}

func checkType(contentType string) error {
	if contentType == "" {
		return nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || !acceptable(media) {
		return problem(http.StatusUnsupportedMediaType, "", "accepted are "+acceptedTypes)
	}
	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "utf8", "us-ascii":
		return nil
	}
	return problem(http.StatusUnsupportedMediaType, "", "text is UTF-8")
}

// acceptable also takes what curl says of a body that it was told nothing
// about.
func acceptable(media string) bool {
	switch media {
	case "application/json", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines",
		"application/x-jsonlines", "application/yaml", "application/x-yaml", "application/octet-stream",
		"application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+yaml")
}

// patient gives the client time for every read, and no more.
type patient struct{ ctx huma.Context }

func (p *patient) Read(b []byte) (int, error) {
	// Where the connection knows no deadlines there is none to be set or
	// lifted. One that passed while the request is worked on would end it.
	_ = p.ctx.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = p.ctx.SetReadDeadline(time.Time{}) }()
	return p.ctx.BodyReader().Read(b)
}

// bounded fails once more than limit bytes come.
type bounded struct {
	r     io.Reader
	n     int64 // read so far
	limit int64
	what  string
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.n += int64(n); b.n > b.limit {
		return 0, &overLimit{b.what, b.limit}
	}
	return n, err
}

// inflation fails once a compressed body has become too long. Text is rarely
// compressed to less than a hundredth; what is made to explode is.
type inflation struct {
	r           io.Reader
	n           int64 // read so far
	wire        *bounded
	floor, most int64
}

const inflationRatio = 100

func (f *inflation) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	f.n += int64(n)
	if limit := min(f.most, max(f.floor, inflationRatio*f.wire.n)); f.n > limit {
		return 0, &overLimit{"decompressed size over limit", limit}
	}
	return n, err
}

// bodyProblem answers for a body that could not be read.
func bodyProblem(err error) error {
	var over *overLimit
	switch {
	case errors.As(err, &over):
		return problem(http.StatusRequestEntityTooLarge, "", over.Error())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problem(http.StatusRequestTimeout, "", "the body did not come in time")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF):
		return problem(http.StatusBadRequest, "", "the body is cut off or not gzip")
	}
	return problem(http.StatusBadRequest, "", "the body could not be read")
}

package ingest

import (
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

var (
	errBodyLimit    = errors.New("body over limit")
	errDecompressed = errors.New("decompressed size over limit")
)

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
	r, err := open(b.hc, limit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, bodyProblem(err, limit)
	}
	return data, nil
}

// open checks the headers of a body and returns it decompressed. What is read
// beyond limit, on the wire or decompressed, is an error.
func open(ctx huma.Context, limit int64) (io.ReadCloser, error) {
	if err := checkType(ctx.Header("Content-Type")); err != nil {
		return nil, err
	}
	raw := &bounded{r: &patient{ctx}, left: limit, over: errBodyLimit}
	switch encoding := strings.ToLower(strings.TrimSpace(ctx.Header("Content-Encoding"))); encoding {
	case "", "identity":
		return io.NopCloser(raw), nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, bodyProblem(err, limit)
		}
		return struct {
			io.Reader
			io.Closer
		}{&bounded{r: z, left: limit, over: errDecompressed}, z}, nil
	default:
		return nil, withHeader(problem(http.StatusUnsupportedMediaType, "", "unknown content encoding, accepted are identity and gzip"), "Accept-Encoding", "gzip")
	}
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

// bounded fails once more than left bytes come.
type bounded struct {
	r    io.Reader
	left int64
	over error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.over
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, b.over
	}
	return n, err
}

// bodyProblem answers for a body that could not be read.
func bodyProblem(err error, limit int64) error {
	switch {
	case errors.Is(err, errBodyLimit), errors.Is(err, errDecompressed):
		return problem(http.StatusRequestEntityTooLarge, "", fmt.Sprintf("%v: at most %d bytes", err, limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problem(http.StatusRequestTimeout, "", "the body did not come in time")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF):
		return problem(http.StatusBadRequest, "", "the body is cut off or not gzip")
	}
	return problem(http.StatusBadRequest, "", "the body could not be read")
}

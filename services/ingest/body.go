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
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/inflight"
)

// acceptedTypes lists the content types in the text of a 415.
const acceptedTypes = "application/json, application/x-ndjson, application/yaml, application/graphql, application/protobuf, application/x-tar, text/*, application/octet-stream"

// overLimit is the error for a body that is too long.
type overLimit struct {
	what  string
	limit int64
}

func (e *overLimit) Error() string { return fmt.Sprintf("%s: at most %d bytes", e.what, e.limit) }

// body is the body of a request, which the handler reads.
type body struct{ hc huma.Context }

// Resolve keeps the request: huma would answer every error of its body as a failed
// validation.
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
	data, err := io.ReadAll(inflight.Decoded(b.hc.Context(), r))
	if err != nil {
		return nil, bodyProblem(err)
	}
	return data, nil
}

// open checks the headers of a body and returns it decompressed, also if only its first
// bytes say that it is compressed. Reading fails beyond most bytes, on the wire or
// decompressed, and if a compressed body exceeds both inflated bytes and inflationRatio times
// its compressed size.
func open(hc huma.Context, inflated, most int64) (io.Reader, error) {
	if err := checkType(hc.Header("Content-Type")); err != nil {
		return nil, err
	}
	wire := &bounded{r: httpserver.Body(hc), limit: func() int64 { return most }, what: "body over limit"}
	unzip := func(r io.Reader) (io.Reader, error) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, bodyProblem(err)
		}
		limit := func() int64 { return min(most, max(inflated, inflationRatio*wire.n)) }
		return &bounded{r: z, limit: limit, what: "decompressed size over limit"}, nil
	}
	var r io.Reader = wire
	switch encoding := strings.ToLower(strings.TrimSpace(hc.Header("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		var err error
		if r, err = unzip(r); err != nil {
			return nil, err
		}
	default:
		return nil, withHeader(problem(http.StatusUnsupportedMediaType, "", "unknown content encoding, accepted are identity and gzip"), "Accept-Encoding", "gzip")
	}
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) { // an error comes again with the first read
		return unzip(in)
	}
	return in, nil
}

// mediaTypes are the accepted types, among others; curl sends x-www-form-urlencoded by default.
var mediaTypes = []string{
	"application/json", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines", "application/x-jsonlines",
	"application/yaml", "application/x-yaml", "application/octet-stream", "application/x-www-form-urlencoded",
	"application/graphql", "application/protobuf", "application/x-protobuf", "application/x-tar",
}

func checkType(contentType string) error {
	if contentType == "" {
		return nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || !slices.Contains(mediaTypes, media) && !strings.HasPrefix(media, "text/") && !strings.HasSuffix(media, "+json") && !strings.HasSuffix(media, "+yaml") {
		return problem(http.StatusUnsupportedMediaType, "", "accepted are "+acceptedTypes)
	}
	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "utf8", "us-ascii":
		return nil
	}
	return problem(http.StatusUnsupportedMediaType, "", "text is UTF-8")
}

// linesSource makes package formats read lines, whatever the first line looks
// like. It has no base name, so it names no provider.
const linesSource = "-.ndjson"

// sourceOf returns a file name with the extension of a content type.
func sourceOf(contentType string) string {
	media, _, _ := mime.ParseMediaType(contentType) // checkType has refused malformed ones
	switch {
	case strings.HasSuffix(media, "ndjson"), strings.HasSuffix(media, "jsonl"), strings.Contains(media, "json-lines"), strings.HasSuffix(media, "jsonlines"):
		return linesSource
	case strings.HasSuffix(media, "yaml"):
		return "-.yaml"
	case strings.HasSuffix(media, "json"):
		return "-.json"
	case media == "text/markdown":
		return "-.md"
	case media == "text/plain":
		return "-.txt"
	}
	return ""
}

// inflationRatio is how many times as long a body may become by decompression. Text is
// rarely compressed to less than a hundredth; a decompression bomb is.
const inflationRatio = 100

// bounded fails once more bytes come than the limit at that moment.
type bounded struct {
	r     io.Reader
	n     int64 // read so far
	limit func() int64
	what  string
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	if limit := b.limit(); b.n > limit {
		return 0, &overLimit{b.what, limit}
	}
	return n, err
}

// bodyProblem answers for a body that could not be read.
func bodyProblem(err error) error {
	var over *overLimit
	full := httpserver.Full(err)
	switch {
	case full != nil:
		return full
	case errors.As(err, &over):
		return problem(http.StatusRequestEntityTooLarge, "", over.Error())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problem(http.StatusRequestTimeout, "", "the body did not come in time")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF):
		return problem(http.StatusBadRequest, "", "the body is cut off or not gzip")
	}
	return problem(http.StatusBadRequest, "", "the body could not be read")
}

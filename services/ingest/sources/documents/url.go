// Package documents reads sources that are documents: OpenAPI documents behind a URL, and
// the files of a folder.
package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// URL reads OpenAPI documents behind a URL: one document, with the files on its host that it
// refers to, or the documents that an index page names.
type URL struct{}

// Connect implements source.Connector. Nothing is asked before the first list.
func (URL) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	return newSite(at, (*reading).list)
}

// site is a URL, and the state of its last list.
type site struct {
	at   source.Place
	root *url.URL
	read func(*reading, context.Context) (source.Listing, error)
	seen map[string]validator // of every file of the last list, by its address
}

func newSite(at source.Place, read func(*reading, context.Context) (source.Listing, error)) (source.Session, error) {
	root, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	return &site{at: at, root: root, read: read}, nil
}

// validator identifies the version of a file for its server (RFC 9110, section 8.8); empty: the
// server gives none.
type validator struct{ etag, modified string }

// Live implements source.Session.
func (*site) Live() bool { return false }

// Close implements source.Session.
func (*site) Close() {}

// List implements source.Session.
func (s *site) List(ctx context.Context, whole bool) (source.Listing, error) {
	if !whole {
		same, err := s.unchanged(ctx)
		if same || err != nil {
			return source.Listing{Same: same}, err
		}
	}
	r := &reading{site: s, left: s.at.Limits.Bytes, seen: map[string]validator{}}
	l, err := s.read(r, ctx)
	if err != nil {
		return source.Listing{}, err
	}
	s.seen, l.Fresh = r.seen, r.fresh
	return l, nil
}

// unchanged reports whether the server says of every file of the last list that it is what
// it was.
func (s *site) unchanged(ctx context.Context) (bool, error) {
	for _, v := range s.seen {
		if v == (validator{}) {
			return false, nil
		}
	}
	for _, address := range slices.Sorted(maps.Keys(s.seen)) {
		resp, err := s.get(ctx, address, s.seen[address])
		if err != nil {
			return false, err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotModified {
			return false, nil
		}
	}
	return len(s.seen) > 0, nil
}

// get asks for a file. An answer other than 200 or 304 is an error.
func (s *site) get(ctx context.Context, address string, known validator) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, application/yaml, application/vnd.oai.openapi+json, */*;q=0.5")
	if known.etag != "" {
		req.Header.Set("If-None-Match", known.etag)
	}
	if known.modified != "" {
		req.Header.Set("If-Modified-Since", known.modified)
	}
	resp, err := s.at.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotModified {
		return resp, nil
	}
	resp.Body.Close()
	return nil, source.Refusal(resp.StatusCode, source.RetryAfter(resp), fmt.Errorf("%s answers %s", address, resp.Status))
}

// reading is one list of a site.
type reading struct {
	*site
	left  int64 // bytes that may still be read
	seen  map[string]validator
	fresh time.Duration
}

// Bounds of one list.
const (
	maxFiles     = 200 // of one list, documents included
	maxDocuments = 100 // of an index page
)

var (
	errHTML  = errors.New("the address answers an HTML page that names no OpenAPI document: it may be a login")
	errFiles = fmt.Errorf("the documents are more than %d files", maxFiles)
	errSize  = errors.New("the documents are too large")
)

func (r *reading) list(ctx context.Context) (source.Listing, error) {
	text, err := r.file(ctx, r.root)
	if err != nil {
		return source.Listing{}, err
	}
	if isOpenAPI(text) {
		d, err := r.document(ctx, r.root, text)
		return source.Listing{Documents: []source.Document{d}}, err
	}
	named, err := r.named(ctx, text)
	if err != nil {
		return source.Listing{}, err
	}
	l := source.Listing{Several: true}
	for _, at := range named {
		text, err := r.file(ctx, at)
		if err != nil {
			return source.Listing{}, err
		}
		switch {
		case isOpenAPI(text):
		case documentForm.MatchString(at.Path) && !strings.Contains(at.Path, "config"):
			return source.Listing{}, fmt.Errorf("%s answers no OpenAPI document", at) // a login page, or an error with status 200
		default:
			continue // the page has other addresses, too
		}
		d, err := r.document(ctx, at, text)
		if err != nil {
			return source.Listing{}, err
		}
		l.Documents = append(l.Documents, d)
	}
	switch {
	case len(l.Documents) > 0:
		return l, nil
	case isHTML(text):
		return source.Listing{}, errHTML
	}
	return source.Listing{}, errors.New("the address answers no OpenAPI document")
}

// file reads a file.
func (r *reading) file(ctx context.Context, at *url.URL) ([]byte, error) {
	if len(r.seen) == maxFiles {
		return nil, errFiles
	}
	resp, err := r.get(ctx, at.String(), validator{})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(inflight.Values(ctx, io.LimitReader(resp.Body, r.left+1)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if r.left -= int64(len(text)); r.left < 0 {
		return nil, errSize
	}
	r.seen[at.String()] = validator{resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")}
	var fresh time.Duration // as in RFC 9111, section 5.2.2.1; 0: the server does not say
	if m := maxAgeForm.FindStringSubmatch(resp.Header.Get("Cache-Control")); m != nil {
		seconds, _ := strconv.Atoi(m[1]) // the form says digits
		fresh = time.Duration(seconds) * time.Second
	}
	if r.fresh == 0 || fresh < r.fresh {
		r.fresh = fresh
	}
	return text, nil
}

var maxAgeForm = regexp.MustCompile(`(?i)(?:^|[,\s])max-age=(\d{1,9})`)

var openAPIForm = regexp.MustCompile(`(?m)^\s*\{?\s*["']?(?:openapi|swagger)["']?\s*:|"(?:openapi|swagger)"\s*:\s*"[23]`)

// sniffed is how much of a file is looked at to recognise it.
const sniffed = 64 << 10

// isOpenAPI reports whether a text looks like an OpenAPI document.
func isOpenAPI(text []byte) bool {
	return !isHTML(text) && openAPIForm.Match(text[:min(len(text), sniffed)])
}

func isHTML(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))), []byte("<"))
}

// addressForm finds addresses of documents in the pages of Swagger UI, ReDoc, FastAPI and
// Scalar, in the scripts and configurations behind them, and in indexes in JSON.
var (
	addressForm = regexp.MustCompile(`(?:["']?(?:url|configUrl|spec-url|serverRelativeURL|data-url)["']?)\s*[:=]\s*["']([^"'\s<>]+)["']`)
	scriptForm  = regexp.MustCompile(`src=["']([^"']*(?:initializer|swagger-config|index)[^"']*\.js)["']`)
)

// named returns the addresses of documents that an index names, in its order, of the same
// host only.
func (r *reading) named(ctx context.Context, index []byte) ([]*url.URL, error) {
	found, known := []*url.URL{}, map[string]bool{r.root.String(): true}
	add := func(list []string) {
		for _, text := range list {
			at, err := r.root.Parse(text)
			if err != nil || at.Host != r.root.Host || at.Scheme != r.root.Scheme {
				continue
			}
			at.Fragment = ""
			if !known[at.String()] && len(found) < maxDocuments {
				known[at.String()] = true
				found = append(found, at)
			}
		}
	}
	for _, script := range matches(scriptForm, index) {
		at, err := r.root.Parse(script)
		if err != nil || at.Host != r.root.Host {
			continue
		}
		text, err := r.file(ctx, at)
		if err != nil {
			return nil, err
		}
		add(matches(addressForm, text))
	}
	add(matches(addressForm, index))
	for i := 0; i < len(found); i++ { // a configuration names documents in its turn
		if !strings.Contains(found[i].Path, "config") {
			continue
		}
		text, err := r.file(ctx, found[i])
		if err != nil {
			return nil, err
		}
		if !isOpenAPI(text) {
			add(matches(addressForm, text))
		}
	}
	return found, nil
}

func matches(form *regexp.Regexp, text []byte) (out []string) {
	for _, m := range form.FindAllSubmatch(text, -1) {
		out = append(out, string(m[1]))
	}
	return out
}

// documentForm is that of paths which lead to documents.
var documentForm = regexp.MustCompile(`(?i)openapi|swagger|api-docs|\.(?:json|ya?ml)$`)

// document returns a document, with the files of its host that it refers to.
func (r *reading) document(ctx context.Context, at *url.URL, text []byte) (source.Document, error) {
	files := []formats.File{{Name: nameOf(at, text), Text: text}}
	known := map[string]bool{at.String(): true}
	for i, from := 0, []*url.URL{at}; i < len(files); i++ {
		for _, reference := range formats.References(files[i].Text) {
			to, err := from[i].Parse(reference)
			if err != nil || to.Host != at.Host || to.Scheme != at.Scheme || known[to.String()] {
				continue
			}
			known[to.String()] = true
			text, err := r.file(ctx, to)
			if err != nil {
				return source.Document{}, err
			}
			files, from = append(files, formats.File{Name: nameOf(to, text), Text: text}), append(from, to)
		}
	}
	base := *at
	base.RawQuery, base.Fragment = "", ""
	if len(files) == 1 {
		return source.Document{Name: nameOf(at, text), Base: base.String(), Raw: text}, nil
	}
	base.Path, base.RawPath = "/", ""
	raw, err := formats.Archive(files)
	return source.Document{Name: at.String(), Base: base.String(), Raw: raw}, err
}

// nameOf returns the name of a file: its path, with an extension that decides how it is read.
func nameOf(at *url.URL, text []byte) string {
	name := strings.TrimPrefix(at.Path, "/")
	for _, ending := range []string{".json", ".yaml", ".yml"} {
		if strings.HasSuffix(name, ending) {
			return name
		}
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return name + ".json"
	}
	return name + ".yaml"
}

package httpserver

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ConsolePath begins the paths of the console. Its views are in the fragment of the address, so
// this is the only page.
const ConsolePath = "/console/"

// consolePolicy restricts the console to scripts, styles and data of this server.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Console is the files of the console by their names.
type Console map[string]*page

// serve serves the files without authentication and redirects the server's root to them. The console gets
// its data from the API.
func (c Console) serve(mux *Mux) {
	if c == nil {
		return
	}
	mux.HandleFunc("GET "+ConsolePath, func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, ConsolePath)
		if name == "" {
			name = "index.html"
		}
		p := c[name]
		if p == nil {
			WriteProblem(w, http.StatusNotFound, "the console has no such file")
			return
		}
		p.ServeHTTP(w, r)
	})
	mux.Handle("GET /{$}", http.RedirectHandler(ConsolePath, http.StatusFound))
}

// media maps files to their media types. The machine's own table may differ, and browsers run no
// script of another type.
var media = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	".json": "application/json", ".webmanifest": "application/manifest+json",
	".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2",
}

// page is a file of the console.
type page struct {
	media   string
	cached  string // for how long
	plain   []byte
	zipped  func() []byte // nil for a file that does not get smaller
	version string        // of the file
}

// OpenConsole reads the files of the console: index.html, and below assets the files named after
// their content.
func OpenConsole(files fs.FS) (Console, error) {
	all := Console{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(raw)
		p := &page{media: media[path.Ext(name)], cached: "no-cache", plain: raw, version: fmt.Sprintf("%x", sum[:12])}
		if p.media == "" {
			return fmt.Errorf("%s is of no type that is served", name)
		}
		if strings.HasPrefix(name, "assets/") { // another content has another name
			p.cached = "public, max-age=31536000, immutable"
		}
		if strings.HasPrefix(p.media, "text/") || strings.HasSuffix(p.media, "xml") || strings.HasSuffix(p.media, "json") {
			p.zipped = sync.OnceValue(func() []byte { return zip(raw) })
		}
		all[name] = p
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the console: %w", err)
	}
	return all, nil
}

func zip(raw []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // there is this level
	_, _ = z.Write(raw)                                     // a buffer takes all
	_ = z.Close()
	return out.Bytes()
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, body, version := w.Header(), p.plain, p.version
	h.Set("Content-Security-Policy", consolePolicy)
	h.Set("Content-Type", p.media)
	h.Set(cacheField, p.cached)
	if p.zipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(r) {
			h.Set("Content-Encoding", "gzip")
			body, version = p.zipped(), version+"-gzip"
		}
	}
	h.Set("ETag", strconv.Quote(version))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// takesGzip reports whether a request accepts gzip (RFC 9110, section 12.5.3).
func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		_, weight, _ = strings.Cut(weight, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		return err != nil || q > 0
	}
	return false
}

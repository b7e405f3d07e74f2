package evaluator

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/text/language"

	"github.com/toolstream/toolstream/internal/cli/importer"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/lab/distill"
	"github.com/toolstream/toolstream/internal/lab/vectorcache"
	"github.com/toolstream/toolstream/internal/server/embedding"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// DistillConfig configures the making of a static model.
type DistillConfig struct {
	Config   config.Config // folder of models, and the endpoint of the teacher http
	Model    distill.Config
	Teachers []string // as in embedder.model
	Cache    string   // folder for the teachers' vectors

	Language string // BCP 47: leave out documents known to be in another language and, of one in Latin letters, texts with others; empty: keep all
	PerGroup int    // documents of one vendor at most; 0: all
	WordNet  string // folder of WordNet's database; empty: none
}

// DistillReport is the result of making a static model.
type DistillReport struct {
	distill.Report
	Documents int `json:"documents"` // tools that were read
	Lines     int `json:"lines"`     // plain texts that were read
	Unread    int `json:"unread"`    // documents that could not be
}

// Distill makes a static model and returns its file. It learns the texts that the embedder
// would read of the documents in the sources, and requests made of them. A source of another
// kind gives one text a line.
func Distill(ctx context.Context, cfg DistillConfig, sources []importer.Source, progress func(stage string, done, total int)) (file []byte, report DistillReport, err error) {
	c := newCorpus(cfg)
	for i, s := range sources {
		progress("reading", i, len(sources))
		if err := readTexts(ctx, c, cfg.Language, s, &report); err != nil {
			return nil, report, err
		}
	}
	progress("reading", len(sources), len(sources))
	c.AddConversations()
	if cfg.WordNet != "" {
		if err := c.AddWordNet(cfg.WordNet); err != nil {
			return nil, report, fmt.Errorf("WordNet: %w", err)
		}
	}
	var teachers []distill.Teacher
	for _, name := range cfg.Teachers {
		teacher, closeTeacher, err := openTeacher(ctx, cfg, name)
		if err != nil {
			return nil, report, fmt.Errorf("teacher %s: %w", name, err)
		}
		defer func() { err = errors.Join(err, closeTeacher()) }()
		teachers = append(teachers, teacher)
	}
	file, report.Report, err = distill.Distil(ctx, cfg.Model, distill.Deps{
		Teachers: teachers, Texts: c.Texts(), Lemmas: c.Lemmas(), Progress: progress,
	})
	return file, report, err
}

func newCorpus(cfg DistillConfig) *distill.Corpus {
	script, _ := language.Make(cfg.Language).Script()
	return &distill.Corpus{PerGroup: cfg.PerGroup, Latin: cfg.Language != "" && script.String() == "Latn"}
}

// openTeacher opens a model and its cache.
func openTeacher(ctx context.Context, cfg DistillConfig, name string) (*vectorcache.Model, func() error, error) {
	settings := cfg.Config
	settings.Embedder.Model = name
	if err := settings.Validate(); err != nil {
		return nil, nil, err
	}
	model, closer, err := embedding.Open(ctx, settings)
	if err != nil {
		return nil, nil, err
	}
	cached, err := vectorcache.Open(cfg.Cache, model)
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	return cached, func() error { return errors.Join(cached.Close(), closer.Close()) }, nil
}

// readTexts adds the texts of a source. It returns an error only if the source as a whole is
// unreadable, and counts the unreadable documents.
func readTexts(ctx context.Context, c *distill.Corpus, language string, s importer.Source, report *DistillReport) error {
	r, err := s.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close() // only read
	ending := strings.ToLower(filepath.Ext(strings.TrimSuffix(s.Name, ".gz")))
	if ending == ".txt" || ending == ".text" {
		return readLines(c, s.Name, r, report)
	}
	for item, problem := range formats.Read(r, formats.Options{Source: s.Name}) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if problem != nil {
			report.Unread++
			continue
		}
		doc, err := rules.Standardize(item.Format, item.ID, item.Raw)
		if err != nil {
			report.Unread++
			continue
		}
		report.Documents++
		if language == "" || doc.Language == "" || sameLanguage(doc.Language, language) {
			vendor, _, _ := strings.Cut(item.Provider, "/")
			c.AddDocument(vendor, &doc)
		}
	}
	return nil
}

func sameLanguage(a, b string) bool {
	first := func(tag string) string {
		primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
		return primary
	}
	return first(a) == first(b)
}

// maxTextLine is the longest line that is read whole.
const maxTextLine = 1 << 20

func readLines(c *distill.Corpus, name string, r io.Reader, report *DistillReport) error {
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r = z
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxTextLine)
	for lines.Scan() {
		c.AddLine(filepath.Base(name), lines.Text())
		report.Lines++
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

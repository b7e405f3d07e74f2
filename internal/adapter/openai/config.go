package openai

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Config says which model is asked, and how. The zero value of a limit means
// its default.
type Config struct {
	// URL is the base of an OpenAI-compatible API ("http://localhost:11434/v1"),
	// or the full address of its embeddings call.
	URL  string
	Key  string // sent as a bearer token; may be empty
	Name string // of the model, as the endpoint calls it
	// Dimensions is the length of the vectors; 0 leaves it to Learn. Models
	// that can make shorter vectors are asked for this length.
	Dimensions int

	// What the model wants to see before a text: E5 and BGE models tell
	// queries from documents by it.
	DocumentPrefix string
	QueryPrefix    string

	Batch       int           // texts in a request; 32
	Bytes       int           // of all texts in a request together; 64 KiB
	Parallel    int           // requests at once; 4
	Timeout     time.Duration // of a request; 30 s
	RetryBudget time.Duration // how long documents are tried again; 5 s, as a stage retries by itself
}

func (c Config) withDefaults() Config {
	c.Batch = cmp.Or(c.Batch, 32)
	c.Bytes = cmp.Or(c.Bytes, 64<<10)
	c.Parallel = cmp.Or(c.Parallel, 4)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.RetryBudget = cmp.Or(c.RetryBudget, 5*time.Second)
	return c
}

func (c Config) validate() error {
	if c.Name == "" {
		return errors.New("openai: no name of a model")
	}
	if c.Dimensions > maxDimensions {
		return fmt.Errorf("openai: %d dimensions, at most %d are read", c.Dimensions, maxDimensions)
	}
	return nil
}

// embeddingsURL returns where requests go.
func embeddingsURL(raw string) (*url.URL, error) {
	u, err := parseAddress(raw, "http://host:port/v1")
	if err != nil {
		return nil, err
	}
	path := strings.TrimRight(u.Path, "/")
	switch {
	case strings.HasSuffix(path, "/embed"), strings.HasSuffix(path, "/api/embeddings"):
		return nil, nativeAPI(u)
	case !strings.HasSuffix(path, "/embeddings"):
		path += "/embeddings"
	}
	u.Path, u.RawPath = path, ""
	return u, nil
}

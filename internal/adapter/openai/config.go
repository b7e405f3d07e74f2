package openai

import (
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
	// the full address of its embeddings call, or the address of TEI's embed
	// call ("http://localhost:8080/embed").
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

	Batch    int           // texts in a request; 32
	Bytes    int           // of all texts in a request together; 64 KiB
	Parallel int           // requests at once; 4
	Timeout  time.Duration // of a request; 30 s
	Patience time.Duration // how long documents are tried again; 5 s, as a stage tries on by itself
}

func (c Config) withDefaults() Config {
	set := func(n *int, standard int) {
		if *n == 0 {
			*n = standard
		}
	}
	set(&c.Batch, 32)
	set(&c.Bytes, 64<<10)
	set(&c.Parallel, 4)
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = 5 * time.Second
	}
	return c
}

func (c Config) validate() error {
	if c.Name == "" {
		return errors.New("openai: no name of a model")
	}
	if min(c.Dimensions, c.Batch, c.Bytes, c.Parallel) < 0 || min(c.Timeout, c.Patience) < 0 {
		return errors.New("openai: a limit is negative")
	}
	if c.Dimensions > maxDimensions {
		return fmt.Errorf("openai: %d dimensions, at most %d are read", c.Dimensions, maxDimensions)
	}
	return nil
}

// endpoint returns where requests go, and whether TEI is spoken there.
func endpoint(raw string) (u *url.URL, tei bool, err error) {
	u, err = address(raw, "http://host:port/v1 or http://host:port/embed")
	if err != nil {
		return nil, false, err
	}
	path := strings.TrimRight(u.Path, "/")
	switch {
	case strings.HasSuffix(path, "/api/embed"), strings.HasSuffix(path, "/api/embeddings"):
		return nil, false, foreign(u)
	case strings.HasSuffix(path, "/embed"):
		tei = true
	case !strings.HasSuffix(path, "/embeddings"):
		path += "/embeddings"
	}
	u.Path, u.RawPath = path, ""
	return u, tei, nil
}

// address reads an address, which has to look like the example.
func address(raw, example string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The parser's error would repeat the address, secrets included.
		return nil, errors.New("openai: the address has to look like " + example)
	}
	if u.User != nil {
		return nil, errors.New("openai: the address holds a user or password: give the key in its own setting")
	}
	return u, nil
}

func foreign(u *url.URL) error {
	return fmt.Errorf("openai: %s is a call of Ollama's own; name its OpenAI-compatible address, which ends in /v1", shown(u))
}

// shown is an address without what may be secret in it.
func shown(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

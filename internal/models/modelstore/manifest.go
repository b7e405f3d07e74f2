// Package modelstore keeps the files of embedding models and of the runtime that
// runs them in a folder: each in a folder of its own, with a manifest of their
// SHA-256. An entry is added as a whole or not at all, and is used only as long
// as its files match the manifest.
package modelstore

import (
	"errors"
	"fmt"
	"regexp"
)

// RuntimeName is the entry of the runtime library.
const RuntimeName = "onnxruntime"

// Kind is the kind of an entry.
type Kind string

// The kinds.
const (
	Runtime Kind = "runtime"
	Model   Kind = "model"
)

// The names of the files of an entry.
const (
	ModelFile      = "model.onnx"
	TokenizerFile  = "tokenizer.json"
	VocabularyFile = "vocab.txt"
	manifestFile   = "manifest.json"
	describedIn    = "model.json" // in the sources of a user
)

// File is a file of an entry.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Manifest describes an entry and its files.
type Manifest struct {
	Name    string       `json:"name"`
	Kind    Kind         `json:"kind"`
	Version string       `json:"version,omitempty"`
	Licence string       `json:"licence,omitempty"`
	Folder  string       `json:"folder"` // of the files, within the entry's folder
	Files   []File       `json:"files"`
	Model   *Description `json:"model,omitempty"` // of a Model
}

// Size is the bytes of all files.
func (m Manifest) Size() int64 {
	var sum int64
	for _, f := range m.Files {
		sum += f.Size
	}
	return sum
}

// file returns the file of that name.
func (m Manifest) file(name string) (File, bool) {
	for _, f := range m.Files {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}

// The kinds of pooling, and the precisions of models.
const (
	Mean = "mean" // over the tokens
	CLS  = "cls"  // the first token
	None = "none" // the model pools by itself
	F32  = "f32"
	Int8 = "int8"
)

// Description says how a model is used: model.json, for a model that is not in
// the catalog.
type Description struct {
	Pooling    string `json:"pooling"`
	Dimensions int    `json:"dimensions"`
	// MaxTokens is where longer texts are cut; 256 if absent.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Precision is f32 or int8; found by looking into the model if absent.
	Precision string `json:"precision,omitempty"`
	// Normalize may be absent or true: vectors are always of unit length.
	Normalize *bool `json:"normalize,omitempty"`
	// KeepCase says of a vocab.txt that it knows capitals and accents.
	KeepCase bool     `json:"keep_case,omitempty"`
	Prefixes Prefixes `json:"prefixes,omitzero"`
	Licence  string   `json:"licence,omitempty"`
}

// Prefixes precede texts, as in the training of a model.
type Prefixes struct {
	Document string `json:"document,omitempty"`
	Query    string `json:"query,omitempty"`
}

func (d *Description) validate() error {
	switch {
	case d.Pooling != Mean && d.Pooling != CLS && d.Pooling != None:
		return fmt.Errorf("%s: pooling is %q; it is one of mean, cls, none", describedIn, d.Pooling)
	case d.Dimensions < 1:
		return fmt.Errorf("%s: dimensions is %d", describedIn, d.Dimensions)
	case d.MaxTokens < 0 || d.MaxTokens > 0 && d.MaxTokens < 3:
		return fmt.Errorf("%s: max_tokens is %d; with the marks at both ends a text has at least 3", describedIn, d.MaxTokens)
	case d.Precision != "" && d.Precision != F32 && d.Precision != Int8:
		return fmt.Errorf("%s: precision is %q; it is one of f32, int8", describedIn, d.Precision)
	case d.Normalize != nil && !*d.Normalize:
		return fmt.Errorf("%s: normalize is false; an index compares vectors of unit length", describedIn)
	}
	return nil
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%q cannot be a name: small letters, digits, dots, hyphens and underscores, at most 64", name)
	}
	return nil
}

// ErrNotThere says that the store has no entry of a name.
var ErrNotThere = errors.New("not there")

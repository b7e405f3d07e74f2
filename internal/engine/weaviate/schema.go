package weaviate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/weaviate/weaviate/entities/models"
)

// schemaVersion rises with every change to the properties or vectors of a
// class. It is part of the name, so that a class is never changed in place.
const schemaVersion = 2

// The named vectors of an object. The last two are lists with one vector for
// each text.
const (
	vectorName        = "name"
	vectorFlat        = "flat"
	vectorDescription = "description"
	vectorResponse    = "response"
	vectorExamples    = "examples"
	vectorParameters  = "parameters"
)

func vectorNames() []string {
	return []string{vectorName, vectorFlat, vectorDescription, vectorResponse, vectorExamples, vectorParameters}
}

func isList(vector string) bool { return vector == vectorExamples || vector == vectorParameters }

// exhaustive is up to how many objects that a filter allows are compared one by
// one; above it the graph is walked.
const exhaustive = 4000

// Model is the source of the vectors of a class.
type Model struct {
	Name       string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

// ClassOf returns the name of the class for a model: the alias, the version of
// the schema, and a hash of the model.
func (c *Client) ClassOf(m Model) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", m.Name, m.Dimensions))
	return fmt.Sprintf("%s_v%d_%s", c.alias, schemaVersion, hex.EncodeToString(sum[:6]))
}

// has reports whether Weaviate has a class.
func (c *Client) has(ctx context.Context, class string) (bool, error) {
	there, err := c.schema.ClassExistenceChecker().WithClassName(class).Do(ctx)
	if err != nil {
		return false, fmt.Errorf("weaviate: class %s: %w", class, err)
	}
	return there, nil
}

// ensure makes the class of a model if it is missing, and returns its name.
func (c *Client) ensure(ctx context.Context, m Model) (string, error) {
	if m.Name == "" || m.Dimensions < 1 || m.Dimensions > 1<<16-1 {
		return "", fmt.Errorf("weaviate: a class for the model %q with %d dimensions", m.Name, m.Dimensions)
	}
	name := c.ClassOf(m)
	there, err := c.has(ctx, name)
	if err != nil || there {
		return name, err
	}
	about, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("weaviate: %w", err)
	}
	class := &models.Class{
		Class: name, Description: string(about), Properties: properties(),
		VectorConfig:       map[string]models.VectorConfig{},
		MultiTenancyConfig: &models.MultiTenancyConfig{Enabled: true, AutoTenantActivation: true},
	}
	for _, v := range vectorNames() {
		settings := map[string]any{"distance": "dot", "flatSearchCutoff": exhaustive}
		if isList(v) {
			settings["multivector"] = map[string]any{"enabled": true, "aggregation": "maxSim"}
		}
		class.VectorConfig[v] = models.VectorConfig{
			Vectorizer: map[string]any{"none": map[string]any{}}, VectorIndexType: "hnsw", VectorIndexConfig: settings,
		}
	}
	made := c.schema.ClassCreator().WithClass(class).Do(ctx)
	if there, err := c.has(ctx, name); err != nil || !there { // otherwise another writer may have been faster
		return "", fmt.Errorf("weaviate: make class %s: %w", name, errors.Join(made, err))
	}
	return name, nil
}

// properties returns the properties of objects. The revision is for people
// who look into Weaviate: nothing filters by it.
func properties() []*models.Property {
	var out []*models.Property
	for _, name := range []string{propKind, propKey, propProvider, propTags, propGrantable, propRevision} {
		p := &models.Property{
			Name: name, DataType: []string{"text"}, Tokenization: models.PropertyTokenizationField,
			IndexFilterable: new(name != propRevision), IndexSearchable: new(bool),
		}
		if name == propTags || name == propGrantable {
			p.DataType = []string{"text[]"}
		}
		out = append(out, p)
	}
	return out
}

// alias is another name of a class. Client v4 does not support aliases, so they go over its REST
// connection.
type alias struct {
	Alias string `json:"alias,omitempty"`
	Class string `json:"class"`
}

// live returns the class of the alias, or "".
func (c *Client) live(ctx context.Context) (string, error) {
	var a alias
	err := c.call(ctx, http.MethodGet, "/aliases/"+c.alias, nil, &a)
	if notFound(err) {
		return "", nil
	}
	return a.Class, err
}

// Switch points the alias at another class atomically. The previous class
// stays, so that switching back is one step too.
func (c *Client) Switch(ctx context.Context, class string) error {
	there, err := c.has(ctx, class)
	if err != nil {
		return err
	}
	if !there { // Weaviate would make an alias that leads nowhere
		return fmt.Errorf("weaviate: no class %s", class)
	}
	err = c.call(ctx, http.MethodPut, "/aliases/"+c.alias, alias{Class: class}, nil)
	if notFound(err) {
		return c.call(ctx, http.MethodPost, "/aliases", alias{Alias: c.alias, Class: class}, nil)
	}
	return err
}

// introduce points the alias at a class if it has no class yet. Another process may
// be about to do the same.
func (c *Client) introduce(ctx context.Context, class string) error {
	live, err := c.live(ctx)
	if err != nil || live != "" {
		return err
	}
	made := c.Switch(ctx, class)
	if live, err := c.live(ctx); err == nil && live != "" {
		return nil
	}
	return made
}

// Drop removes a class with its objects. It does not remove the live class: Weaviate would leave a
// dangling alias.
func (c *Client) Drop(ctx context.Context, class string) error {
	live, err := c.live(ctx)
	if err != nil {
		return err
	}
	if class == live {
		return fmt.Errorf("weaviate: class %s is live: switch to another one first", live)
	}
	if err := c.schema.ClassDeleter().WithClassName(class).Do(ctx); err != nil {
		return fmt.Errorf("weaviate: drop class %s: %w", class, err)
	}
	return nil
}

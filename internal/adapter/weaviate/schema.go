package weaviate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/fault"
	"github.com/weaviate/weaviate/entities/models"
)

// schemaVersion rises with every change to the properties or vectors of a
// class. It is part of the name, so that a class is never changed in place.
const schemaVersion = 1

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

// Model is what the vectors of a class come from.
type Model struct {
	Name       string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

// ClassOf returns the name of the class for a model: the alias, the version of
// the schema, and a hash of the model.
func (c *Client) ClassOf(m Model) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", m.Name, m.Dimensions))
	return fmt.Sprintf("%s_v%d_%s", c.config.Alias, schemaVersion, hex.EncodeToString(sum[:6]))
}

// ensure makes the class of a model, or compares the one that is there with what
// it has to be.
func (c *Client) ensure(ctx context.Context, m Model) (string, error) {
	if m.Name == "" || m.Dimensions < 1 || m.Dimensions > 1<<16-1 {
		return "", fmt.Errorf("weaviate: a class for the model %q with %d dimensions", m.Name, m.Dimensions)
	}
	name := c.ClassOf(m)
	want, err := c.definition(name, m)
	if err != nil {
		return "", err
	}
	got, err := c.class(ctx, name)
	if errors.Is(err, errNoClass) {
		made := c.schema.ClassCreator().WithClass(want).Do(ctx)
		if got, err = c.class(ctx, name); err != nil { // another writer may have been faster
			err = errors.Join(made, err)
		}
	}
	if err != nil {
		return "", err
	}
	return name, compare(got, want)
}

// definition returns a class as it is made.
func (c *Client) definition(name string, m Model) (*models.Class, error) {
	about, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("weaviate: %w", err)
	}
	class := &models.Class{
		Class: name, Description: string(about), Properties: properties(),
		VectorConfig:       map[string]models.VectorConfig{},
		MultiTenancyConfig: &models.MultiTenancyConfig{Enabled: true, AutoTenantActivation: true},
		ReplicationConfig:  &models.ReplicationConfig{Factor: int64(c.config.Replicas)},
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
	return class, nil
}

// properties returns what objects hold beside vectors. Those that nothing
// filters by have no index.
func properties() []*models.Property {
	var out []*models.Property
	add := func(filterable bool, dataType string, names ...string) {
		for _, name := range names {
			p := &models.Property{Name: name, DataType: []string{dataType}, IndexFilterable: &filterable, IndexSearchable: new(bool)}
			if strings.HasPrefix(dataType, "text") {
				p.Tokenization = models.PropertyTokenizationField
			}
			out = append(out, p)
		}
	}
	add(true, "text", propKind, propKey, propAgent)
	add(true, "text[]", propTags)
	add(false, "boolean", propDeleted, propNudged)
	add(false, "text", propRevision, propSource, propSession, propAccepted, propFormat, propHash, propDocument)
	return out
}

// errNoClass is what class fails with where there is none of that name.
var errNoClass = errors.New("weaviate: no such class")

func (c *Client) class(ctx context.Context, name string) (*models.Class, error) {
	class, err := c.schema.ClassGetter().WithClassName(name).Do(ctx)
	if f := (*fault.WeaviateClientError)(nil); errors.As(err, &f) && f.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%w: %s", errNoClass, name)
	}
	if err != nil {
		return nil, fmt.Errorf("weaviate: class %s: %w", name, err)
	}
	return class, nil
}

// modelOf reads what definition wrote down.
func modelOf(class *models.Class) (Model, error) {
	var m Model
	if err := json.Unmarshal([]byte(class.Description), &m); err != nil {
		return m, fmt.Errorf("weaviate: the description of class %s names no model: %w", class.Class, err)
	}
	return m, nil
}

// LiveModel returns the class that searches go to and the model of its vectors.
func (c *Client) LiveModel(ctx context.Context) (string, Model, error) {
	name, err := c.Live(ctx)
	if err != nil || name == "" {
		return "", Model{}, err
	}
	class, err := c.class(ctx, name)
	if err != nil {
		return "", Model{}, err
	}
	m, err := modelOf(class)
	return name, m, err
}

// DifferentError says how a class differs from what it has to be. It is never
// changed silently.
type DifferentError struct {
	Class       string
	Differences []string // "path: is this, want that", in the order of paths
}

// Error names the class and every difference.
func (e *DifferentError) Error() string {
	return fmt.Sprintf("weaviate: class %s is not as this program makes it: %s", e.Class, strings.Join(e.Differences, "; "))
}

// compare returns a *DifferentError unless got has everything that want says.
// What want leaves to the server may be anything.
func compare(got, want *models.Class) error {
	var differences []string
	note(&differences, "", generic(got), generic(want))
	if len(differences) == 0 {
		return nil
	}
	slices.Sort(differences)
	return &DifferentError{Class: want.Class, Differences: differences}
}

// generic returns a class as JSON has it, its properties by name.
func generic(class *models.Class) map[string]any {
	raw, err := json.Marshal(class)
	var out map[string]any
	if err != nil || json.Unmarshal(raw, &out) != nil {
		return nil // a class that came from JSON goes back
	}
	byName := map[string]any{}
	list, _ := out["properties"].([]any)
	for _, p := range list {
		property, _ := p.(map[string]any)
		byName[fmt.Sprint(property["name"])] = property
	}
	out["properties"] = byName
	return out
}

func note(differences *[]string, path string, got, want any) {
	wanted, ok := want.(map[string]any)
	if !ok {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			*differences = append(*differences, fmt.Sprintf("%s: is %v, want %v", path, got, want))
		}
		return
	}
	found, _ := got.(map[string]any)
	for name, value := range wanted {
		note(differences, strings.TrimPrefix(path+"."+name, "."), found[name], value)
	}
}

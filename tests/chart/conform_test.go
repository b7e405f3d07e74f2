package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/servers/servertest"
)

// TestManifestsConform checks what is rendered against schemas that are made of
// the description of the API that Kubernetes publishes, without a server.
func TestManifestsConform(t *testing.T) {
	home := servertest.Programs(t)
	schemas := t.TempDir()
	writeSchemas(t, home, schemas)
	conform := func(t *testing.T, text string) (string, error) {
		file := filepath.Join(t.TempDir(), "manifests.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, all, err := run(t, nil, filepath.Join(home, "kubeconform"), "-strict", "-summary",
			"-schema-location", schemas+"/{{ .ResourceKind }}{{ .KindSuffix }}.json", file)
		return all, err
	}
	for name, values := range examples(t) {
		t.Run(name, func(t *testing.T) {
			if all, err := conform(t, render(t, filepath.Join(home, "helm"), values)); err != nil {
				t.Errorf("%v\n%s", err, all)
			}
		})
	}
	for _, wrong := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndatta: {}\n",
		"apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: m}\nspec: {scaleTargetRef: {name: m}, trigers: []}\n",
	} {
		if all, err := conform(t, wrong); err == nil {
			t.Errorf("what is misspelt is let through:\n%s\n%s", wrong, all)
		}
	}
}

// writeSchemas writes a file for every kind, called as kubeconform looks for it.
func writeSchemas(t *testing.T, home, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, "schemas", "swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var api struct{ Definitions map[string]map[string]any }
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	for _, d := range api.Definitions {
		tighten(d)
	}
	for _, d := range api.Definitions {
		kinds, _ := d["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			k := k.(map[string]any)
			used := map[string]any{}
			gather(api.Definitions, d, used)
			schema := map[string]any{"definitions": used}
			for key, value := range d {
				schema[key] = value
			}
			write(t, dir, k["kind"].(string), k["group"].(string), k["version"].(string), schema)
		}
	}
	definitions, err := filepath.Glob(filepath.Join(home, "crds", "*.yaml"))
	if err != nil || len(definitions) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	for _, file := range definitions {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, string(text)) {
			for _, v := range o.at("spec")["versions"].([]any) {
				v := object(v.(map[string]any))
				schema := v.at("schema", "openAPIV3Schema")
				tighten(schema)
				write(t, dir, o.at("spec", "names")["kind"].(string), o.at("spec")["group"].(string), v["name"].(string), schema)
			}
		}
	}
}

func write(t *testing.T, dir, kind, group, version string, schema map[string]any) {
	t.Helper()
	suffix := "-" + version
	if group != "" {
		suffix = "-" + strings.Split(group, ".")[0] + suffix
	}
	text, err := json.Marshal(schema)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ToLower(kind+suffix)+".json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tighten refuses fields that are not described, as the server does when it is
// asked to be strict, and lets numbers stand where the API takes them for text.
func tighten(schema map[string]any) {
	if properties, ok := schema["properties"].(map[string]any); ok && schema["additionalProperties"] == nil && schema["x-kubernetes-preserve-unknown-fields"] == nil {
		schema["additionalProperties"] = false
		for _, name := range []string{"apiVersion", "kind", "metadata"} { // of resources of others
			if properties["spec"] != nil && properties[name] == nil {
				properties[name] = map[string]any{}
			}
		}
	}
	if schema["format"] == "int-or-string" || schema["x-kubernetes-int-or-string"] == true || strings.Contains(fmt.Sprint(schema["description"]), "Quantity is a fixed-point") {
		delete(schema, "type")
		delete(schema, "format")
	}
	for _, value := range schema {
		switch value := value.(type) {
		case map[string]any:
			tighten(value)
		case []any:
			for _, v := range value {
				if v, ok := v.(map[string]any); ok {
					tighten(v)
				}
			}
		}
	}
}

// gather adds the definitions that a schema refers to.
func gather(all map[string]map[string]any, schema any, used map[string]any) {
	switch schema := schema.(type) {
	case map[string]any:
		if ref, ok := schema["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/definitions/")
			if used[name] == nil {
				used[name] = all[name]
				gather(all, all[name], used)
			}
		}
		for _, value := range schema {
			gather(all, value, used)
		}
	case []any:
		for _, value := range schema {
			gather(all, value, used)
		}
	}
}

package main

import (
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema/jsonschema"
)

func TestFilesAreInStepWithTheTypes(t *testing.T) {
	want := check.Value(schemas("../.."))(t)
	for name, raw := range want {
		have, err := jsonschema.Read(name)
		if err != nil || string(have) != string(raw) {
			t.Errorf("%s.json is not what its type says (%v): run go generate ./pkg/schema/jsonschema", name, err)
		}
	}
	if names := jsonschema.Names(); len(names) != len(want) {
		t.Errorf("there are files of %v, and %d types", names, len(want))
	}
}

func TestEveryFieldIsLimitedByItsName(t *testing.T) {
	// A limit of a field that was renamed would silently apply to nothing.
	docs := check.Value(readDocs("../.."))(t)
	for _, field := range []string{
		"Ref.ID", "Feedback.SearchID", "SearchRequest.Query", "Filters.IDs", "Need.UserIntent", "Document.Name",
		"Parameter.Enum", "Weights.Tau", "Weights.Hash", "Result.Similarity", "Usage.Tenant", "Impression.Tenant",
	} {
		if _, ok := docs[field]; !ok || limits(field) == nil {
			t.Errorf("%s: field %v, limits %v", field, ok, limits(field))
		}
	}
}

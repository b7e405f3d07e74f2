package revisions

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Changed returns the names of the fields that differ between two documents.
func Changed(before, after *schema.Document) []string {
	changed := []string{}
	for _, f := range []struct {
		name string
		same bool
	}{
		{"name", before.Name == after.Name},
		{"title", before.Title == after.Title},
		{"description", before.Description == after.Description},
		{"parameters", slices.EqualFunc(before.Parameters, after.Parameters, func(a, b schema.Parameter) bool { return reflect.DeepEqual(a, b) })},
		{"response", before.Response == after.Response},
		{"examples", slices.Equal(before.Examples, after.Examples)},
		{"tags", slices.Equal(before.Tags, after.Tags)},
	} {
		if !f.same {
			changed = append(changed, f.name)
		}
	}
	return changed
}

// Difference is a single difference between two documents.
type Difference struct {
	Path   string          `json:"path" doc:"JSON pointer into the document; if the value was removed, into the document before."`
	Before json.RawMessage `json:"before,omitempty" doc:"Absent if the value is new."`
	After  json.RawMessage `json:"after,omitempty" doc:"Absent if the value was removed."`
}

// Differences compares two documents and returns their differences by path. It matches parameters by name and
// texts of lists by content, so that moving them is not a difference.
func Differences(before, after *schema.Document) ([]Difference, error) {
	a, err := members(before)
	if err != nil {
		return nil, err
	}
	b, err := members(after)
	if err != nil {
		return nil, err
	}
	out := []Difference{}
	compare("", a, b, func(path string, before, after any) {
		out = append(out, Difference{path, encoded(before), encoded(after)})
	})
	return out, nil
}

func members(d *schema.Document) (out any, err error) {
	raw, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	return out, err
}

// encoded returns a value as JSON, nil for nil.
func encoded(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return raw
}

// compare calls tell for each difference between two values. A missing value is nil: documents
// hold no null.
func compare(path string, before, after any, tell func(path string, before, after any)) {
	a, isObject := before.(map[string]any)
	b, both := after.(map[string]any)
	if isObject && both {
		all := maps.Clone(a)
		maps.Copy(all, b)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			compare(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), a[name], b[name], tell)
		}
		return
	}
	from, isList := before.([]any)
	to, both := after.([]any)
	if isList && both {
		compareLists(path, from, to, tell)
		return
	}
	if !reflect.DeepEqual(before, after) {
		tell(path, before, after)
	}
}

func compareLists(path string, before, after []any, tell func(path string, before, after any)) {
	was := map[string][]int{} // places of each name before
	for i, v := range before {
		was[nameOf(v)] = append(was[nameOf(v)], i)
	}
	for i, v := range after {
		at := path + "/" + strconv.Itoa(i)
		places := was[nameOf(v)]
		if len(places) == 0 {
			tell(at, nil, v)
			continue
		}
		was[nameOf(v)] = places[1:]
		compare(at, before[places[0]], v, tell)
	}
	for i, v := range before {
		if slices.Contains(was[nameOf(v)], i) {
			tell(path+"/"+strconv.Itoa(i), v, nil)
		}
	}
}

// nameOf returns the identity of an element of a list.
func nameOf(v any) string {
	if object, ok := v.(map[string]any); ok {
		return fmt.Sprint("name ", object["name"])
	}
	return fmt.Sprint("value ", v)
}

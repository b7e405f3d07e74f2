package events

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

var update = flag.Bool("update", false, "write the encoded example of the newest version of a record that has none; what is there stays as it is")

// fill sets every field of v, nested ones included, to a value that is not
// its zero.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Date(2024, 5, 17, 8, 30, *n%60, 123000000, time.UTC)
		return
	case *json.RawMessage:
		*at = json.RawMessage(fmt.Sprintf(`{"n":%d}`, *n))
		return
	case *[]byte:
		*at = fmt.Appendf(nil, "bytes %d", *n)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Int, reflect.Int8:
		v.SetInt(int64(*n) % 128)
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, n)
		fill(t, value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	default:
		t.Fatalf("cannot fill a %s", v.Type())
	}
}

func filled[T any](t *testing.T) T {
	t.Helper()
	var v T
	n := 0
	fill(t, reflect.ValueOf(&v).Elem(), &n)
	return v
}

// codec is that of one type of record.
type codec struct {
	name   string
	newest int
	encode func(t *testing.T) ([]byte, any) // an example with all fields
	decode func(raw []byte) (any, error)
}

func codecs() []codec {
	return []codec{codecOf[Change]("change"), codecOf[schema.Impression]("impression"), codecOf[schema.Feedback]("feedback"), codecOf[DeadLetter]("deadletter")}
}

func codecOf[T Record](name string) codec {
	_, newest, _ := versionOf(new(T))
	return codec{
		name: name, newest: newest,
		encode: func(t *testing.T) ([]byte, any) {
			v := filled[T](t)
			raw := check.Value(Encode(&v))(t)
			_, _, stated := versionOf(&v)
			*stated = newest
			return raw, v
		},
		decode: func(raw []byte) (any, error) { return Decode[T](raw) },
	}
}

func unknown(err error) bool { return errors.As(err, new(*UnknownSchemaError)) }

func TestEveryFieldRoundTrips(t *testing.T) {
	for _, r := range codecs() {
		raw, want := r.encode(t)
		got, err := r.decode(raw)
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", r.name, got, want)
		}
	}
}

// TestOldBytesDecode decodes one example of every version ever written. A
// newer version may leave fields of an example empty that it did not have; it
// may not lose one that it had: the newest example must encode back to itself.
func TestOldBytesDecode(t *testing.T) {
	for _, r := range codecs() {
		newest := filepath.Join("testdata", fmt.Sprintf("%s.v%d.json", r.name, r.newest))
		if _, err := os.Stat(newest); *update && os.IsNotExist(err) {
			raw, _ := r.encode(t)
			check.OK(t, os.WriteFile(newest, append(raw, '\n'), 0o644))
		}
		for version := 1; version <= r.newest; version++ {
			name := filepath.Join("testdata", fmt.Sprintf("%s.v%d.json", r.name, version))
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("%s version %d has no example: %v", r.name, version, err)
			}
			v, err := r.decode(raw)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			again := check.Value(json.Marshal(v))(t)
			assertKeeps(t, name, raw, again)
		}
	}
}

// assertKeeps fails where again lacks anything that raw says.
func assertKeeps(t *testing.T, name string, raw, again []byte) {
	t.Helper()
	var before, after any
	check.OK(t, json.Unmarshal(raw, &before))
	check.OK(t, json.Unmarshal(again, &after))
	if path, ok := contains(after, before, ""); !ok {
		t.Errorf("%s: %s was lost", name, path)
	}
}

func contains(whole, part any, path string) (string, bool) {
	p, ok := part.(map[string]any)
	if !ok {
		return path, reflect.DeepEqual(whole, part)
	}
	w, ok := whole.(map[string]any)
	if !ok {
		return path, false
	}
	for key, value := range p {
		if at, ok := contains(w[key], value, path+"/"+key); !ok {
			return at, false
		}
	}
	return "", true
}

func TestLaterVersionsAreRefused(t *testing.T) {
	for _, r := range codecs() {
		raw := fmt.Appendf(nil, `{"schema":%d,"vectors":"of another shape","shown":7,"time":false,"headers":[]}`, r.newest+1)
		_, err := r.decode(raw)
		if !unknown(err) {
			t.Errorf("%s: %v", r.name, err)
		}
		if _, err := r.decode([]byte(`{"schema":-1}`)); !unknown(err) {
			t.Errorf("%s: negative version: %v", r.name, err)
		}
		if _, err := r.decode([]byte(`{"schema":1,"new_field":{"x":1}}`)); err != nil {
			t.Errorf("%s: an unknown field: %v", r.name, err)
		}
		for _, bad := range []string{``, `null0`, `[]`, `{"schema":"1"}`, `{`} {
			if _, err := r.decode([]byte(bad)); err == nil || unknown(err) {
				t.Errorf("%s: %q: %v", r.name, bad, err)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	c := Change{Version: schema.Version{Revision: 12}, Op: OpUpsert, Hash: "ab"}
	want := map[string]string{"schema": "1", "revision": "12", "op": "upsert", "content-hash": "ab"}
	if got := Headers(&c); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	c.Hash = ""
	if _, ok := Headers(&c)[HeaderHash]; ok {
		t.Error("an empty hash has a header")
	}
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no examples", err)
	}
	for _, name := range files {
		raw := check.Value(os.ReadFile(name))(f)
		f.Add(raw)
		f.Add([]byte(strings.ReplaceAll(string(raw), "1", "9")))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, r := range codecs() {
			if v, err := r.decode(raw); err == nil {
				if _, err := json.Marshal(v); err != nil {
					t.Fatalf("%s decodes and does not encode: %v", r.name, err)
				}
			}
		}
		if c, err := Decode[Change](raw); err == nil && c.Validate() == nil {
			again := check.Value(Encode(&c))(t)
			if _, err := Decode[Change](again); err != nil {
				t.Fatalf("what was encoded does not decode: %v", err)
			}
		}
	})
}

// Records of tools.raw and documents once listed sentences that stood in many tools.
func TestRecordsThatListBoilerplateDecode(t *testing.T) {
	c, err := Decode[Change]([]byte(`{"schema":1,"tenant":"t","kind":"tool","id":"a","revision":7,"op":"upsert","accepted":"2024-05-17T08:30:14Z",` +
		`"boilerplate":["All rights reserved."],"raw":{"name":"a"},"document":{"name":"a","boilerplate":["All rights reserved."],"flags":["boilerplate-in-text"]}}`))
	if err != nil || c.Revision != 7 || string(c.Raw) != `{"name":"a"}` || c.Document.Name != "a" {
		t.Errorf("%+v, %v", c, err)
	}
}

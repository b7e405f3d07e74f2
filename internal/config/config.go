//go:generate go run ./generate

package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/redact"
)

// EnvPrefix starts the environment name of every key.
const EnvPrefix = "TOOLSTREAM_"

// ONNXPrefix begins the setting of a model that runs in this process; the name of the model
// follows.
const ONNXPrefix = "onnx:"

// StaticModel is the embedding model in the program. StaticPrefix begins the setting of a model in
// a file of `toolstream-lab distill`.
const (
	StaticModel  = "static"
	StaticPrefix = "static:"
)

// Values of rerank.model, besides ONNXPrefix.
const (
	RerankHTTP = "http"
	RerankOff  = "off"
)

// Values of query.vectors.
const (
	VectorsReplica  = "replica"
	VectorsWeaviate = "weaviate"
)

// Key documents one setting.
type Key struct {
	Name    string
	Default string
	Help    string
	Secret  bool // its value is never shown
}

// Env returns the environment variable that sets the key.
func (k Key) Env() string {
	return EnvPrefix + strings.ToUpper(strings.NewReplacer(".", "_").Replace(k.Name))
}

// setting is a field of Config.
type setting struct {
	Key
	field []int // index in Config
	tag   reflect.StructTag
	whole bool // a mapping is one value
}

// settings lists the fields of Config in their order.
func settings() []setting { return settingsOf(reflect.TypeFor[Config](), "", nil) }

func settingsOf(t reflect.Type, prefix string, at []int) (out []setting) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, place := prefix+f.Tag.Get("name"), append(slices.Clone(at), i)
		if f.Type.Kind() == reflect.Struct {
			out = append(out, settingsOf(f.Type, name+".", place)...)
			continue
		}
		s := setting{Key{name, f.Tag.Get("default"), f.Tag.Get("help"), f.Tag.Get("secret") == "true"}, place, f.Tag, f.Type.Kind() == reflect.Map}
		if name == "data" {
			s.Default = defaultData()
		}
		out = append(out, s)
	}
	return out
}

// Keys lists every setting with its default.
func Keys() (keys []Key) {
	for _, s := range settings() {
		keys = append(keys, s.Key)
	}
	return keys
}

// links matches the variables that Kubernetes sets in a pod for each service of the namespace,
// such as TOOLSTREAM_QUERY_PORT.
var links = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT|PORT)(_[A-Z0-9_]+)?$`)

// Strays returns the names of the variables in an environment, in the form of os.Environ, that
// look like settings but are not.
func Strays(environment []string) (names []string) {
	sections, known := map[string]bool{}, map[string]bool{}
	for _, key := range Keys() {
		known[key.Env()] = true
		if section, _, deeper := strings.Cut(key.Name, "."); deeper {
			sections[strings.ToUpper(section)] = true
		}
	}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, EnvPrefix)
		section, _, deeper := strings.Cut(rest, "_")
		if ours && deeper && value != "" && sections[section] && !known[name] && !links.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func defaultData() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "toolstream")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "toolstream")
	}
	return "toolstream-data"
}

// Wrong is the error for a setting that turns out to be wrong in use, for instance because a file
// is missing.
type Wrong struct{ Err error }

func (w Wrong) Error() string { return w.Err.Error() }

// Unwrap returns the error.
func (w Wrong) Unwrap() error { return w.Err }

// ModelsDir returns the folder of models.
func (c Config) ModelsDir() string {
	if c.Models.Dir != "" {
		return c.Models.Dir
	}
	return filepath.Join(c.Data, "models")
}

// StaticFile returns the file of a static model: a file of this name in ModelsDir, if it exists,
// or the path itself.
func (c Config) StaticFile(path string) string {
	if named := filepath.Join(c.ModelsDir(), path); filepath.Base(path) == path {
		if _, err := os.Stat(named); err == nil {
			return named
		}
	}
	return path
}

// Values returns every setting as text, by name, without secrets.
func (c Config) Values() map[string]string {
	values := map[string]string{}
	for _, s := range settings() {
		value := reflect.ValueOf(c).FieldByIndex(s.field).Interface()
		text := fmt.Sprint(value)
		if list, ok := value.([]string); ok {
			text = strings.Join(list, ",")
		}
		if s.whole {
			text = ""
			if reflect.ValueOf(value).Len() > 0 {
				var b strings.Builder
				out := json.NewEncoder(&b)
				out.SetEscapeHTML(false) // keeps & in addresses
				_ = out.Encode(value)    // settings always encode
				text = strings.TrimSuffix(b.String(), "\n")
			}
		}
		if s.Secret && text != "" {
			text = "(set)"
		}
		values[s.Name] = redact.Text(text)
	}
	return values
}

// Markdown returns a table of all settings.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| setting | default | meaning |\n|---|---|---|\n")
	for _, s := range settings() {
		initial := "–"
		switch {
		case s.Name == "data":
			initial = "`~/.local/share/toolstream`"
		case s.Default != "":
			initial = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, initial, strings.ReplaceAll(s.Help, "|", "\\|"))
	}
	return b.String()
}

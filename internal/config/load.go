package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Load merges the defaults, the file at path (unless it is ""), the environment and the values of
// flags, and validates the result. An unknown key is an error.
func Load(path string, flags map[string]any) (Config, error) {
	values := map[string]any{}
	if path != "" {
		if err := readFile(path, values); err != nil {
			return Config{}, fmt.Errorf("config: read %s: %w", path, err)
		}
	}
	all := settings()
	for _, s := range all {
		if value := os.Getenv(s.Env()); value != "" { // an empty variable counts as unset
			values[s.Name] = value
		}
	}
	maps.Copy(values, flags)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(all, func(s setting) bool { return s.Name == name }) {
			return Config{}, unknown(name)
		}
	}
	var c Config
	for _, s := range all {
		value, set := values[s.Name]
		if !set {
			value = s.Default
		}
		if err := assign(reflect.ValueOf(&c).Elem().FieldByIndex(s.field), value); err != nil {
			return Config{}, fmt.Errorf("config: %s %w", s.Name, err)
		}
	}
	return c, c.Validate()
}

// readFile adds the settings of a file. An empty setting counts as unset.
func readFile(path string, values map[string]any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file any
	if err := yaml.Unmarshal(text, &file); err != nil {
		return err
	}
	tree, ok := file.(map[string]any)
	if !ok && file != nil {
		return errors.New("not a mapping: want settings such as listen: 127.0.0.1:8665")
	}
	whole := map[string]bool{}
	for _, s := range settings() {
		whole[s.Name] = s.whole
	}
	flatten(tree, "", whole, values)
	for _, key := range Keys() {
		for name, value := range values {
			none, isMap := value.(map[string]any)
			group := strings.HasPrefix(key.Name, name+".")
			if value == nil && (group || key.Name == name) || group && isMap && len(none) == 0 {
				delete(values, name)
			}
		}
	}
	return nil
}

// flatten writes the leaves of a tree under their names, such as log.level. An empty mapping is a
// leaf, and so is a setting that is a mapping.
func flatten(tree map[string]any, prefix string, whole map[string]bool, values map[string]any) {
	for name, value := range tree {
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 && !whole[prefix+name] {
			flatten(inner, prefix+name+".", whole, values)
			continue
		}
		values[prefix+name] = value
	}
}

// unknown returns the error for an unknown key, which may be a group of settings or a member of a
// setting.
func unknown(name string) error {
	for _, key := range Keys() {
		if strings.HasPrefix(key.Name, name+".") {
			return fmt.Errorf("config: %s is a group of settings and wants a mapping of them, such as %s; `toolstream config print` lists them all", name, key.Name)
		}
		if strings.HasPrefix(name, key.Name+".") {
			return fmt.Errorf("config: %s %w", key.Name, errMapping)
		}
	}
	return fmt.Errorf("config: no setting is called %q; `toolstream config print` lists them all", name)
}

var errMapping = errors.New("is a mapping: want one value")

// assign sets a field of Config to a value of YAML, the environment or a flag.
func assign(field reflect.Value, value any) error {
	if _, isList := field.Interface().([]string); isList {
		list, err := texts(value)
		field.Set(reflect.ValueOf(list))
		return err
	}
	if field.Kind() == reflect.Map {
		return mapping(field, value)
	}
	text, isText := value.(string)
	switch reflect.ValueOf(value).Kind() {
	case reflect.Map:
		return errMapping
	case reflect.Slice:
		return errors.New("is a list: want one value")
	case reflect.Float64:
		text = strconv.FormatFloat(value.(float64), 'f', -1, 64)
	case reflect.String:
	default:
		text = fmt.Sprint(value)
	}
	wrong := func(want string) error { return fmt.Errorf("is %s: want %s", text, want) }
	switch field.Interface().(type) {
	case string:
		field.SetString(text)
	case time.Duration:
		_, isTime := value.(time.Duration)
		d, err := time.ParseDuration(text)
		if err != nil || !isText && !isTime {
			return wrong("a time with its unit, such as 30s or 5m")
		}
		field.SetInt(int64(d))
	case int, int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return wrong("a whole number")
		}
		field.SetInt(n)
	case float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return wrong("a number")
		}
		field.SetFloat(x)
	case bool:
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return wrong("true or false")
		}
		field.SetBool(yes)
	}
	return nil
}

// texts reads a list, or text with commas; "off" is the empty list. A whole number counts as
// text.
func texts(value any) (list []string, err error) {
	members, ok := value.([]any)
	if !ok {
		text, ok := wholeText(value)
		if !ok {
			return nil, fmt.Errorf("is %v: want a list", value)
		}
		for member := range strings.SplitSeq(text, ",") {
			members = append(members, member)
		}
	}
	for _, m := range members {
		text, ok := wholeText(m)
		if !ok {
			return nil, fmt.Errorf("has the member %v: want text", m)
		}
		if text = strings.TrimSpace(text); text != "" {
			list = append(list, text)
		}
	}
	if len(list) == 1 && list[0] == "off" {
		list = nil
	}
	return list, nil
}

func wholeText(value any) (string, bool) {
	if n, whole := value.(int); whole {
		return strconv.Itoa(n), true
	}
	text, ok := value.(string)
	return text, ok
}

// mapping sets a field that is a map, from YAML or from text in YAML.
func mapping(field reflect.Value, value any) error {
	if text, ok := value.(string); ok {
		value = nil
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return fmt.Errorf("is not a mapping: %w", err)
		}
	}
	if value == nil {
		return nil
	}
	if _, ok := value.(map[string]any); !ok {
		return errors.New("is one value, or a list: want a mapping of names")
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("is not a mapping of names: %w", err)
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(field.Addr().Interface()); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

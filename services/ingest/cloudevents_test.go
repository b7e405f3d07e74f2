package ingest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

func decode(contentType, body string, headers ...string) ([]cloudEvent, *cloudEventError) {
	h := http.Header{}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return decodeCloudEvents(h, []byte(body), jsondoc.Limits{})
}

const (
	structuredType = "application/cloudevents+json; charset=utf-8"
	batchType      = "application/cloudevents-batch+json"
)

func TestDecode(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	plain := cloudEvent{ID: "1", Source: "/s", Type: "t"}
	for name, tc := range map[string]struct {
		contentType, body string
		headers           []string
		want              cloudEvent
		data, dataType    string
	}{
		"structured": {structuredType,
			`{"specversion":"1.0","id":"1","source":"/s","type":"t","subject":"a/b","time":"2026-03-01T10:00:00Z","provider":"mail","sequence":7,"data":{"b":1,"a":2}}`,
			nil, cloudEvent{ID: "1", Source: "/s", Type: "t", Subject: "a/b", Time: at, Extensions: map[string]string{"provider": "mail", "sequence": "7"}}, `{"b":1,"a":2}`, ""},
		"capitalised, numbers": {structuredType,
			`{"Type":"t","Time":"2026-03-01T10:00:00Z","specversion":1.0,"ID":1,"SOURCE":"/s","Data":{"a":1}}`,
			nil, cloudEvent{ID: "1", Source: "/s", Type: "t", Time: at}, `{"a":1}`, ""},
		"specversion 1":       {structuredType, `{"specversion":1,"id":"1","source":"/s","type":"t"}`, nil, plain, "", ""},
		"plain JSON":          {"application/json", `{"specversion":"1.0","id":"1","source":"/s","type":"t"}`, nil, plain, "", ""},
		"no content type":     {"", `{"specversion":"1.0","id":"1","source":"/s","type":"t"}`, nil, plain, "", ""},
		"odd extensions":      {structuredType, `{"specversion":"1.0","id":"1","source":"/s","type":"t","data_version":1,"x":{"a":1},"y":null}`, nil, plain, "", ""},
		"base64":              {structuredType, `{"specversion":"1.0","id":"1","source":"/s","type":"t","datacontenttype":"text/plain","data_base64":"aGVsbG8="}`, nil, plain, "hello", "text/plain"},
		"text":                {structuredType, `{"specversion":"1.0","id":"1","source":"/s","type":"t","datacontenttype":"application/yaml","data":"a: 1\n"}`, nil, plain, "a: 1\n", "application/yaml"},
		"data before version": {structuredType, `{"data":{"a":1},"id":"1","source":"/s","type":"t","specversion":"1.0"}`, nil, plain, `{"a":1}`, ""},
		"binary": {"application/yaml", "a: 1\n",
			[]string{"ce-specversion", "1.0", "ce-id", "1", "ce-source", "/s", "ce-type", "t", "ce-subject", "caf%C3%A9", "ce-time", "2026-03-01T10:00:00Z", "ce-provider", "mail"},
			cloudEvent{ID: "1", Source: "/s", Type: "t", Subject: "café", Time: at, Extensions: map[string]string{"provider": "mail"}}, "a: 1\n", "application/yaml"},
		"binary without a content type or a body": {"", "", []string{"ce-specversion", "1.0", "ce-id", "1", "ce-source", "/s", "ce-type", "t"}, plain, "", ""},
		"binary without a content type":           {"", `{"a":1}`, []string{"ce-specversion", "1.0", "ce-id", "1", "ce-source", "/s", "ce-type", "t"}, plain, `{"a":1}`, ""},
		"binary, an extension with an escape":     {"", "", []string{"ce-specversion", "1.0", "ce-id", "1", "ce-source", "/s", "ce-type", "t", "ce-provider", "caf%C3%A9"}, cloudEvent{ID: "1", Source: "/s", Type: "t", Extensions: map[string]string{"provider": "café"}}, "", ""},
		"binary beats JSON":                       {"application/json", `{"a":1}`, []string{"Ce-Specversion", "1", "Ce-Id", "1", "Ce-Source", "/s", "Ce-Type", "t"}, plain, `{"a":1}`, "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := decode(tc.contentType, tc.body, tc.headers...)
			if err != nil || len(list) != 1 {
				t.Fatalf("%d events, %v", len(list), err)
			}
			tc.want.Data, tc.want.DataType = []byte(tc.data), tc.dataType
			if tc.want.Extensions == nil {
				tc.want.Extensions = map[string]string{}
			}
			if got, want := fmt.Sprintf("%+v", list[0]), fmt.Sprintf("%+v", tc.want); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestDecodeBatch(t *testing.T) {
	body := `[{"specversion":"1.0","id":"1","source":"/s","type":"t"},{"SpecVersion":1.0,"id":"2","source":"/s","type":"t","data":[1]}]`
	for _, contentType := range []string{batchType, "application/json", ""} {
		list, err := decode(contentType, body)
		if err != nil || len(list) != 2 || list[0].ID != "1" || list[1].ID != "2" || string(list[1].Data) != "[1]" {
			t.Errorf("%s: %+v, %v", contentType, list, err)
		}
	}
}

// The numbers are those of the bad-input catalogue.
func TestDecodeRefuses(t *testing.T) {
	event := func(members string) string {
		return `{"specversion":"1.0","id":"1","source":"/s","type":"t"` + members + `}`
	}
	for name, tc := range map[string]struct {
		contentType, body  string
		headers            []string
		attribute, pointer string
		index              int
		unsupported        bool
	}{
		"31 no specversion":      {structuredType, `{"id":"1","source":"/s","type":"t"}`, nil, "specversion", "/specversion", -1, false},
		"31 no id":               {structuredType, `{"specversion":"1.0","source":"/s","type":"t"}`, nil, "id", "/id", -1, false},
		"31 no source":           {structuredType, `{"specversion":"1.0","id":"1","type":"t"}`, nil, "source", "/source", -1, false},
		"31 no type":             {structuredType, `{"specversion":"1.0","id":"1","source":"/s"}`, nil, "type", "/type", -1, false},
		"31 empty id":            {structuredType, `{"specversion":"1.0","id":"","source":"/s","type":"t"}`, nil, "id", "/id", -1, false},
		"31 id is an object":     {structuredType, `{"specversion":"1.0","id":{},"source":"/s","type":"t"}`, nil, "id", "/id", -1, false},
		"31 binary, no type":     {"application/json", `{}`, []string{"ce-specversion", "1.0", "ce-id", "1", "ce-source", "/s"}, "type", "/type", -1, false},
		"31 binary, version":     {"application/json", `{}`, []string{"ce-id", "1", "ce-source", "/s", "ce-type", "t"}, "specversion", "/specversion", -1, false},
		"31 no event":            {"application/json", `{"name":"a"}`, nil, "specversion", "/specversion", -1, false},
		"31 in a batch":          {batchType, `[` + event("") + `,{"specversion":"1.0","id":"1","source":"/s"}]`, nil, "type", "/1/type", 1, false},
		"32 specversion 0.3":     {structuredType, `{"specversion":"0.3","id":"1","source":"/s","type":"t"}`, nil, "specversion", "/specversion", -1, false},
		"32 specversion 2.0":     {structuredType, `{"specversion":2.0,"id":"1","source":"/s","type":"t"}`, nil, "specversion", "/specversion", -1, false},
		"33 data twice":          {structuredType, event(`,"data":{},"data_base64":"aGVsbG8="`), nil, "data_base64", "/data_base64", -1, false},
		"time":                   {structuredType, event(`,"time":"yesterday"`), nil, "time", "/time", -1, false},
		"source is no URI":       {structuredType, `{"specversion":"1.0","id":"1","source":"%zz","type":"t"}`, nil, "source", "/source", -1, false},
		"base64":                 {structuredType, event(`,"data_base64":"!"`), nil, "data_base64", "/data_base64", -1, false},
		"long id":                {structuredType, `{"specversion":"1.0","id":"` + strings.Repeat("x", 1025) + `","source":"/s","type":"t"}`, nil, "id", "/id", -1, false},
		"an attribute twice":     {structuredType, event(`,"ID":"2"`), nil, "id", "/id", -1, false},
		"8 a key twice":          {structuredType, event(`,"id":"2"`), nil, "", "", -1, false},
		"7 nested":               {structuredType, event(`,"data":` + strings.Repeat("[", 65) + strings.Repeat("]", 65)), nil, "", "", -1, false},
		"1 empty":                {structuredType, "", nil, "", "", -1, false},
		"22 empty batch":         {batchType, "[]", nil, "", "", -1, false},
		"a batch of a number":    {batchType, "[1]", nil, "", "/0", 0, false},
		"a batch that is not":    {batchType, "{}", nil, "", "", -1, false},
		"an array as one":        {structuredType, "[]", nil, "", "", -1, false},
		"another format":         {"application/cloudevents+avro", "x", nil, "", "", -1, true},
		"another batch's format": {"application/cloudevents-batch+protobuf", "x", nil, "", "", -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			list, e := decode(tc.contentType, tc.body, tc.headers...)
			if e == nil || list != nil {
				t.Fatalf("%+v, %v", list, e)
			}
			if e.Index != tc.index || e.Unsupported != tc.unsupported || e.Error() == "" {
				t.Errorf("%+v", e)
			}
			if tc.attribute != "" && (e.Attribute != tc.attribute || e.Pointer() != tc.pointer) {
				t.Errorf("names %q at %q", e.Attribute, e.Pointer())
			}
		})
	}
}

// Whatever comes in, what comes out is an event, or an error that says why.
func FuzzDecode(f *testing.F) {
	f.Add(structuredType, []byte(`{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"a":1}}`), "")
	f.Add(batchType, []byte(`[{"Specversion":1.0,"id":1,"source":"/s","type":"t","data_base64":"aGVsbG8="}]`), "")
	f.Add("application/json", []byte(`{"a":1}`), "1.0")
	f.Add("text/plain", []byte("hello"), "1")
	f.Add("", []byte(`{"specversion":"1.0","id":"1","source":"/s","type":"t","time":"2026-03-01T10:00:00Z","x":1.5}`), "")
	f.Fuzz(func(t *testing.T, contentType string, body []byte, version string) {
		h := http.Header{"Content-Type": {contentType}}
		if version != "" {
			h["Ce-Specversion"], h["Ce-Id"], h["Ce-Source"], h["Ce-Type"] = []string{version}, []string{"1"}, []string{"/s"}, []string{"t"}
		}
		list, err := decodeCloudEvents(h, body, jsondoc.Limits{})
		if err != nil {
			if list != nil || err.Error() == "" {
				t.Fatalf("%+v, %v", list, err)
			}
			return
		}
		if len(list) == 0 {
			t.Fatal("neither events nor an error")
		}
		for _, e := range list {
			if e.ID == "" || e.Source == "" || e.Type == "" || len(e.ID) > maxName {
				t.Fatalf("incomplete: %+v", e)
			}
		}
	})
}

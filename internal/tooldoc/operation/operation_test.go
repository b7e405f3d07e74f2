package operation_test

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/tooldoc/operation"
)

const server = "https://api.example/v1"

// made returns the request that an operation makes of arguments.
func made(t *testing.T, raw, arguments string) (*http.Request, error) {
	t.Helper()
	o, err := operation.Parse(json.RawMessage(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return o.Request(t.Context(), server, json.RawMessage(arguments))
}

// TestParametersAreEncodedAsDeclared has the examples of the OpenAPI specification: one
// value, a list and an object in every style.
func TestParametersAreEncodedAsDeclared(t *testing.T) {
	const one, list, object = `"blue"`, `["blue","black","brown"]`, `{"R":100,"G":200,"B":150}`
	for _, c := range []struct{ in, declared, value, want string }{
		{"path", ``, one, "/v1/a/blue"}, {"path", ``, list, "/v1/a/blue,black,brown"},
		{"path", ``, object, "/v1/a/B,150,G,200,R,100"}, {"path", `"explode":true`, object, "/v1/a/B=150,G=200,R=100"},
		{"path", `"style":"label"`, one, "/v1/a/.blue"}, {"path", `"style":"label"`, list, "/v1/a/.blue,black,brown"},
		{"path", `"style":"label","explode":true`, list, "/v1/a/.blue.black.brown"}, {"path", `"style":"label","explode":true`, object, "/v1/a/.B=150.G=200.R=100"},
		{"path", `"style":"matrix"`, one, "/v1/a/;color=blue"}, {"path", `"style":"matrix"`, list, "/v1/a/;color=blue,black,brown"},
		{"path", `"style":"matrix","explode":true`, list, "/v1/a/;color=blue;color=black;color=brown"},
		{"path", `"style":"matrix"`, object, "/v1/a/;color=B,150,G,200,R,100"}, {"path", `"style":"matrix","explode":true`, object, "/v1/a/;B=150;G=200;R=100"},
		{"query", ``, one, "color=blue"}, {"query", ``, list, "color=blue&color=black&color=brown"}, {"query", ``, object, "B=150&G=200&R=100"},
		{"query", `"explode":false`, list, "color=blue,black,brown"}, {"query", `"explode":false`, object, "color=B,150,G,200,R,100"},
		{"query", `"style":"spaceDelimited"`, list, "color=blue%20black%20brown"}, {"query", `"style":"pipeDelimited"`, list, "color=blue%7Cblack%7Cbrown"},
		{"query", `"style":"deepObject"`, object, "color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100"},
		{"query", `"style":"deepObject"`, `{"a":{"b":[1,2]}}`, "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2"},
		{"query", ``, `"a b&c=d/é"`, "color=a%20b%26c%3Dd%2F%C3%A9"}, {"query", `"allowReserved":true`, `"a/b?c&d#e"`, "color=a/b?c%26d%23e"},
		{"query", ``, `[]`, ""}, {"query", ``, `{}`, ""}, {"query", ``, `null`, ""}, {"query", ``, `true`, "color=true"}, {"query", ``, `12345678901234567890`, "color=12345678901234567890"},
		{"header", ``, one, "blue"}, {"header", ``, list, "blue,black,brown"}, {"header", ``, object, "B,150,G,200,R,100"}, {"header", `"explode":true`, object, "B=150,G=200,R=100"},
		{"cookie", ``, one, "color=blue"}, {"cookie", ``, `"a;b c"`, "color=a%3Bb%20c"},
	} {
		declared := `{"name":"color","in":"` + c.in + `","schema":{}`
		if c.declared != "" {
			declared += "," + c.declared
		}
		path := map[string]string{"path": "/a/{color}"}[c.in]
		if path == "" {
			path = "/a"
		}
		r, err := made(t, `{"method":"GET","path":"`+path+`","operation":{"parameters":[`+declared+`}]}}`, `{"color":`+c.value+`}`)
		if err != nil {
			t.Errorf("%s %s %s: %v", c.in, c.declared, c.value, err)
			continue
		}
		got := map[string]string{"path": r.URL.EscapedPath(), "query": r.URL.RawQuery, "header": r.Header.Get("Color"), "cookie": r.Header.Get("Cookie")}[c.in]
		if got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.in, c.declared, c.value, got, c.want)
		}
	}
}

func TestSwaggerParameters(t *testing.T) {
	r := check.Value(made(t, `{"method":"get","path":"/a/{id}?fixed=1#x","operation":{"parameters":[
		{"name":"id","in":"path","type":"integer"},{"name":"a","in":"query","type":"array","items":{"type":"string"}},
		{"name":"b","in":"query","type":"array","collectionFormat":"multi"},{"name":"c","in":"query","type":"array","collectionFormat":"pipes"},
		{"name":"d","in":"query","type":"array","collectionFormat":"ssv"},{"name":"e","in":"query","type":"array","collectionFormat":"tsv"}]}}`,
		`{"id":7,"a":[1,2],"b":[1,2],"c":[1,2],"d":[1,2],"e":[1,2]}`))(t)
	if want := "https://api.example/v1/a/7?fixed=1&a=1,2&b=1&b=2&c=1%7C2&d=1%202&e=1%092"; r.URL.String() != want || r.Method != "GET" || r.Body != nil {
		t.Errorf("%s %s", r.Method, r.URL)
	}
}

func TestBodies(t *testing.T) {
	for _, c := range []struct{ name, content, body, media, want string }{
		{"JSON keeps its digits", `{"application/json":{"schema":{"type":"object"}}}`, `{"n":12345678901234567890.10}`, "application/json", `{"n":12345678901234567890.10}`},
		{"JSON before a form", `{"application/x-www-form-urlencoded":{},"application/vnd.api+json":{}}`, `[1]`, "application/vnd.api+json", `[1]`},
		{"any type", `{"*/*":{}}`, `{"a":1}`, "application/json", `{"a":1}`},
		{"form", `{"application/x-www-form-urlencoded":{"schema":{}}}`, `{"a":"x y&z","b":[1,2],"c":{"d":1}}`, "application/x-www-form-urlencoded", `a=x%20y%26z&b=1&b=2&c=%7B%22d%22%3A1%7D`},
		{"form with encodings", `{"application/x-www-form-urlencoded":{"encoding":{"c":{"style":"deepObject"},"b":{"explode":false}}}}`, `{"b":[1,2],"c":{"d":1}}`, "application/x-www-form-urlencoded", `b=1,2&c%5Bd%5D=1`},
		{"bytes", `{"application/octet-stream":{"schema":{"type":"string","format":"binary"}}}`, `"AP8"`, "application/octet-stream", "\x00\xff"},
		{"an image", `{"image/png":{}}`, `"AP8="`, "image/png", "\x00\xff"},
		{"text", `{"text/csv":{"schema":{"type":"string"}}}`, `"a,b\n"`, "text/csv", "a,b\n"},
		{"XML", `{"application/xml":{"schema":{"type":"object"}}}`, `"<a/>"`, "application/xml", "<a/>"},
		{"a type with a newline", `{"text/x\r\nA: b":{"schema":{"type":"string"}}}`, `"a"`, "text/plain", "a"},
	} {
		r, err := made(t, `{"method":"POST","path":"/a","operation":{"requestBody":{"content":`+c.content+`}}}`, `{"body":`+c.body+`}`)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != c.want || r.Header.Get("Content-Type") != c.media || r.ContentLength != int64(len(c.want)) {
			t.Errorf("%s: %s %q, %v; want %s %q", c.name, r.Header.Get("Content-Type"), got, err, c.media, c.want)
		}
	}
}

func TestMultipart(t *testing.T) {
	three := `{"method":"POST","path":"/a","operation":{"requestBody":{"content":{"multipart/form-data":{"schema":{"properties":{"file":{"type":"string","format":"binary"},"more":{"type":"array","items":{"$ref":"#/operation/x"}},"about":{"type":"object"},"n\"\r\nA: b":{}}},
		"encoding":{"file":{"contentType":"image/png, image/jpeg"}}}}},"x":{"type":"string","format":"binary"}}}`
	two := `{"method":"POST","path":"/a","operation":{"parameters":[{"name":"file","in":"formData","type":"file","required":true},{"name":"more","in":"formData","type":"string"}]}}`
	for _, c := range []struct {
		raw, arguments string
		want           []string
	}{
		{three, `{"body":{"file":"AP8=","more":["YQ==","Yg=="],"about":{"a":1},"n\"\r\nA: b":"x"}}`, []string{
			`about "" application/json {"a":1}`, "file \"file\" image/png \x00\xff", `more "more" application/octet-stream a`, `more "more" application/octet-stream b`, `n%22%0D%0AA: b ""  x`}},
		{two, `{"body":{"file":"YQ==","more":"x"}}`, []string{`file "file" application/octet-stream a`, `more ""  x`}},
	} {
		r := check.Value(made(t, c.raw, c.arguments))(t)
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		check.OK(t, err)
		var got []string
		parts := multipart.NewReader(r.Body, params["boundary"])
		for {
			p, err := parts.NextPart()
			if errors.Is(err, io.EOF) {
				break
			}
			check.OK(t, err)
			content := check.Value(io.ReadAll(p))(t)
			got = append(got, p.FormName()+` "`+p.FileName()+`" `+p.Header.Get("Content-Type")+" "+string(content))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

func TestInputAndOutput(t *testing.T) {
	o := check.Value(operation.Parse(json.RawMessage(`{"method":"PUT","path":"/a/{id}/{unlisted}","operation":{"parameters":[
		{"$ref":"#/nowhere"},{"name":"id","in":"query","schema":{"type":"string"}},{"name":"id","in":"path","description":"Which","schema":{"type":"integer"}},
		{"name":"body","in":"query","content":{"application/json":{"schema":{"type":"object","properties":{"x":{"nullable":true,"type":"string"}}}}}},
		{"name":"Authorization","in":"header"},{"name":"X-API-Key","in":"header"},{"name":"Content-Type","in":"header"},{"name":"Transfer-Encoding","in":"header"},{"name":"If-Match","in":"header","required":true},
		{"name":"session","in":"cookie"}],
		"requestBody":{"required":true,"description":"What","content":{"application/json":{"schema":{"type":"object","properties":{"id":{"readOnly":true},"n":{"$ref":"#/components/schemas/Gone"}}}}}},
		"responses":{"404":{},"200":{"content":{"application/json":{"schema":{"type":"array","items":{"type":"string"}}}}}}}}`)))(t)
	if want := `{"additionalProperties":false,"properties":{"If-Match":{},"body":{"properties":{"x":{"type":["string","null"]}},"type":"object"},` +
		`"body_content":{"description":"What","properties":{"n":{}},"type":"object"},"id":{"description":"Which","type":"integer"},"id_query":{"type":"string"},"session":{},` +
		`"unlisted":{"minLength":1,"type":"string"}},"required":["id","unlisted","If-Match","body_content"],"type":"object"}`; string(o.Input()) != want {
		t.Errorf("%s\nwant %s", o.Input(), want)
	}
	if want := `{"items":{"type":"string"},"type":"array"}`; string(o.Output()) != want {
		t.Errorf("%s", o.Output())
	}
	r, err := o.Request(t.Context(), server, json.RawMessage(`{"id":1,"id_query":"q","unlisted":"u","body":{"x":null},"body_content":{"n":1},"If-Match":"e","session":"s","Authorization":"mine","X-API-Key":"k"}`))
	check.OK(t, err)
	if r.URL.String() != "https://api.example/v1/a/1/u?id=q&body=%7B%22x%22%3Anull%7D" || r.Header.Get("If-Match") != "e" || r.Header.Get("Authorization")+r.Header.Get("X-Api-Key") != "" || r.Header.Get("Accept") != "application/json, */*;q=0.5" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
}

func TestServersAreThoseOfTheDocument(t *testing.T) {
	o := check.Value(operation.Parse(json.RawMessage(`{"method":"GET","path":"/a","operation":{"servers":[{"url":"https://other.example"}]},"servers":[
		{"url":"https://{region}.api.example/{v}/","variables":{"region":{"default":"eu"},"v":{"default":"v2","enum":["v1"]}}},{"url":"https://{tenant}.example"},
		{"url":"/relative"},{"url":"ftp://a.example"},{"url":"https://user:pass@a.example"},{"url":"https://a.example?x=1"},{"url":"http://plain.example"},{"url":7},null]}`)))(t)
	if got := o.Servers(); !slices.Equal(got, []string{"https://eu.api.example/v2/", "http://plain.example"}) {
		t.Error(got)
	}
	for _, bad := range []string{"", "/a", "file:///etc", "https://a.example#f", "https://{x}.example", "https://u@a.example"} {
		if _, err := o.Request(t.Context(), bad, json.RawMessage(`{}`)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestValuesStayWhereTheyBelong(t *testing.T) {
	get := `{"method":"GET","path":"/a/{id}/b","operation":{"parameters":[{"name":"id","in":"path"},{"name":"q","in":"query"},{"name":"X-Q","in":"header"}]}}`
	for value, want := range map[string]string{
		`"x/y"`: "/v1/a/x%2Fy/b", `"x?y#z"`: "/v1/a/x%3Fy%23z/b", `"%2e%2e"`: "/v1/a/%252e%252e/b", `"a..b"`: "/v1/a/a..b/b", `"\\x"`: "/v1/a/%5Cx/b", `"é ;"`: "/v1/a/%C3%A9%20%3B/b",
	} {
		r, err := made(t, get, `{"id":`+value+`}`)
		if err != nil || r.URL.EscapedPath() != want || r.URL.Host != "api.example" {
			t.Errorf("%s: %v, %v", value, r, err)
		}
	}
	for _, arguments := range []string{
		`{}`, `{"id":null}`, `{"id":""}`, `{"id":"."}`, `{"id":".."}`, `{"id":[]}`, `{"id":{}}`, `{"id":["",""]}`, `{"id":"../x"}`, `{"id":"x/.."}`, `{"id":"x\\..\\y"}`,
		`{"id":"..;"}`, `{"id":"..;/admin"}`, `{"id":"..;x=y/admin"}`, `{"id":"x/..;/y"}`, `{"id":".;"}`, `{"id":".;x"}`, `{"id":"..\\x"}`, `{"id":["..;","a"]}`,
		`{"id":"a","X-Q":"a\r\nB: c"}`, `{"id":"a","X-Q":"a\u0000"}`, `{"id":"a","q":"` + strings.Repeat("x", operation.MaxAddress) + `"}`, `[]`, `{`, `"x"`,
	} {
		wrong := (*operation.ArgumentError)(nil)
		if _, err := made(t, get, arguments); !errors.As(err, &wrong) {
			t.Errorf("%.60s: %v", arguments, err)
		}
	}
	if _, err := made(t, `{"method":"GET","path":"/a/{x}{y}","operation":{}}`, `{"x":".","y":"."}`); err == nil {
		t.Error("two dots of two values are taken")
	}
	post := `{"method":"POST","path":"/a","operation":{"requestBody":{"required":true,"content":{"application/octet-stream":{}}}}}`
	for _, arguments := range []string{`{}`, `{"body":7}`, `{"body":"?"}`, `{"body":null}`} {
		if _, err := made(t, post, arguments); err == nil {
			t.Errorf("%s is taken", arguments)
		}
	}
}

func TestUnusableOperationsAreRefused(t *testing.T) {
	for _, raw := range []string{``, `{`, `[]`, `{}`, `{"method":"GET","operation":{}}`, `{"path":"/a","operation":{}}`, `{"method":"GET","path":"a","operation":{}}`, `{"method":"GET","path":"/a"}`} {
		if _, err := operation.Parse(json.RawMessage(raw)); err == nil {
			t.Errorf("%s is taken", raw)
		}
	}
	for _, method := range []string{"CONNECT", "A B", "trace"} {
		if _, err := made(t, `{"method":"`+method+`","path":"/a","operation":{}}`, `{}`); err == nil {
			t.Errorf("a request with %s is made", method)
		}
	}
	for _, path := range []string{"/..", "/a/../b", "/%2e%2E/b", "/..%2fb", "/..%5Cb", "/..;x=y/b", "/..;/b", "/.;/b", "/..%3B/b", "/.%3b/b", "/x%2f..%3Bb/c"} {
		if r, err := made(t, `{"method":"GET","path":"`+path+`","operation":{}}`, `{}`); err == nil {
			t.Errorf("a request of %s is made of %s", r.URL, path)
		}
	}
}

// A call that is granted as one that changes nothing changes nothing by a header either.
func TestNoArgumentTurnsARequestIntoAnother(t *testing.T) {
	for _, header := range []string{"X-HTTP-Method-Override", "x-http-method", "X-Method-Override", "Authorization", "Host", "Transfer-Encoding",
		"X-Original-URL", "x-rewrite-url", "X-Original-URI", "X-Original-Host", "X-Host", "X-Forwarded-Host", "X-Forwarded-Prefix", "X-Forwarded-For", "Forwarded", "X-HTTP-Host-Override"} {
		r, err := made(t, `{"method":"GET","path":"/a","operation":{"parameters":[{"name":"`+header+`","in":"header"}]}}`, `{"`+header+`":"DELETE"}`)
		if err != nil || r.Header.Get(header) != "" {
			t.Errorf("%s: %v, %v", header, r, err)
		}
	}
}

// FuzzRequest makes requests of operations and values of all kinds: a request goes to its
// server, and to no other path than the operation's.
func FuzzRequest(f *testing.F) {
	for _, style := range []string{"simple", "label", "matrix", "form", "deepObject", "pipeDelimited", "x"} {
		f.Add("/a/{id}/b", style, true, `"../x"`, "GET")
		f.Add("/a/{id}/b?x={id}#y", style, false, `{"a":["..",{"b":"/"}],"c/":"#"}`, "POST")
	}
	f.Add("/%2e/{+id}", "simple", true, `"."`, "get")
	f.Fuzz(func(t *testing.T, path, style string, explode bool, value, method string) {
		parameters := []any{}
		for _, in := range []string{"path", "query", "header", "cookie"} {
			parameters = append(parameters, map[string]any{"name": "id", "in": in, "style": style, "explode": explode, "schema": map[string]any{}})
		}
		raw, err := json.Marshal(map[string]any{"method": method, "path": path, "operation": map[string]any{"parameters": parameters, "requestBody": map[string]any{"content": map[string]any{style: map[string]any{}}}}})
		check.OK(t, err)
		o, err := operation.Parse(raw)
		if err != nil || !json.Valid([]byte(value)) {
			return
		}
		if !json.Valid(o.Input()) {
			t.Fatalf("input %s", o.Input())
		}
		r, err := o.Request(t.Context(), server, json.RawMessage(`{"id":`+value+`,"id_query":`+value+`,"id_header":`+value+`,"id_cookie":`+value+`,"body":`+value+`}`))
		if err != nil {
			return
		}
		if r.URL.Scheme != "https" || r.URL.Host != "api.example" || r.Host != "api.example" || r.URL.User != nil || r.URL.Fragment != "" {
			t.Fatalf("goes to %s", r.URL)
		}
		template, _, _ := strings.Cut(path, "#")
		template, _, _ = strings.Cut(template, "?")
		segments := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/v1"), "/")
		if len(segments) != len(strings.Split(template, "/")) {
			t.Fatalf("%s became %s", template, r.URL.EscapedPath())
		}
		if slices.Contains(segments, "..") || slices.Contains(segments, ".") {
			t.Fatalf("%s leads upwards", r.URL.EscapedPath())
		}
		for name, values := range r.Header {
			if strings.ContainsAny(name+strings.Join(values, ""), "\r\n\x00") {
				t.Fatalf("header %q: %q", name, values)
			}
		}
	})
}

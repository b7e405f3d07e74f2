package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

// The official suite tests the MCP server at /mcp. Its fixtures are the tools of the server
// that the Go SDK has for the suite: a source, whose tools are pinned, so that the suite finds
// and calls them here under the names that it knows.
func TestTheServerConforms(t *testing.T) {
	t.Parallel()
	_, home := provisioned(t)
	x := toolstream{process.Up(t, process.Build(t), "TOOLSTREAM_CALLS_DESTRUCTIVE=allow").Front()}
	fixtures := process.Launch(t, nil, build(t, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"), "-http", "127.0.0.1:%s")
	for _, name := range []string{"test", "json"} {
		x.add(t, name, source.Spec{Kind: source.MCP, URL: without(t, fixtures.Addr, name+"_"), AllowPrivate: true})
	}
	pins := []string{"json_schema_2020_12_tool"}
	for _, tool := range x.tools(t, "test") {
		if !strings.HasPrefix(tool, "json_") {
			pins = append(pins, "test_"+tool)
		}
	}
	check.OK(t, x.Client.Put(t.Context(), "/v1/pins", map[string]any{"version": "0", "tools": pins}, nil))
	out := t.TempDir()
	argv := servers.Node(home, "conformance", "server", "--url", x.Client.Server+"/mcp", "--requirements", "2026-07-28", "--output-dir", out)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	said, err := cmd.CombinedOutput() // its status is bad where a check fails that is expected to
	failed, readErr := failures(out)
	if readErr != nil || len(failed) == 0 {
		t.Fatalf("no results: %v, %v\n%s", err, readErr, said)
	}
	for scenario, known := range scenarios {
		got, run := failed[scenario]
		slices.Sort(got)
		if !run || !slices.Equal(got, known) {
			t.Errorf("%s: run %v; what fails is %q, want %q", scenario, run, got, known)
		}
	}
}

// scenarios are those of features that the server has, with the checks that are known to fail.
// It has no prompts, resources, completions and tasks. Of tools it passes on neither progress
// nor headers of parameters, and the API has no place for the capabilities of clients.
var scenarios = map[string][]string{
	"caching":                                       nil,
	"dns-rebinding-protection":                      nil,
	"http-header-validation":                        nil,
	"input-required-result-basic-elicitation":       nil,
	"input-required-result-basic-list-roots":        nil,
	"input-required-result-basic-sampling":          nil,
	"input-required-result-ignore-extra-params":     nil,
	"input-required-result-missing-input-response":  nil,
	"input-required-result-multi-round":             nil,
	"input-required-result-multiple-input-requests": nil,
	"input-required-result-request-state":           nil,
	"input-required-result-result-type":             nil,
	"input-required-result-unsupported-methods":     nil,
	"input-required-result-validate-input":          nil,
	"prompts-list":                                  nil,
	"resources-list":                                nil,
	"sep-2164-resource-not-found":                   nil,
	"server-sse-multiple-streams":                   nil,
	"tools-call-audio":                              nil,
	"tools-call-embedded-resource":                  nil,
	"tools-call-error":                              nil,
	"tools-call-image":                              nil,
	"tools-call-mixed-content":                      nil,
	"tools-call-simple-text":                        nil,
	"tools-list":                                    nil,
	"input-required-result-capability-check":        {"sep-2322-respect-client-capabilities"}, // the question that the client does not answer is refused, the others are not asked
	"input-required-result-tampered-state":          {"sep-2322-reject-tampered-state"},       // the refusal of the tool's server is a result that says so
	"json-schema-2020-12":                           {"json-schema-2020-12-$schema", "sep-2106-anchor-keyword-preserved"},
	"server-stateless":                              {"sep-2575-missing-capability-http-400", "sep-2575-server-rejects-undeclared-capability"}, // so is this
	"tools-call-with-progress":                      {"tools-call-with-progress"},
}

// folder is the name of a folder of results, with that of the scenario.
var folder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT`)

// failures returns the ids of the checks that have failed, by scenario.
func failures(dir string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	out := map[string][]string{}
	for _, file := range files {
		name := folder.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if name == nil {
			return nil, fmt.Errorf("%s is of no scenario", file)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var checks []struct{ ID, Status string }
		if err := json.Unmarshal(raw, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out[name[1]] = nil
		for _, c := range checks {
			if c.Status == "FAILURE" {
				out[name[1]] = append(out[name[1]], c.ID)
			}
		}
	}
	return out, err
}

// tools returns the names of the tools of a provider.
func (x toolstream) tools(t *testing.T, provider string) (names []string) {
	t.Helper()
	var page struct {
		Tools []struct {
			Name string
		}
	}
	check.OK(t, x.Client.Get(t.Context(), "/v1/tools", url.Values{"provider": {provider}}, &page))
	for _, tool := range page.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// build compiles a program of a module that this one requires.
func build(t *testing.T, pkg string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "program")
	check.OK(t, process.Compile(pkg, bin))
	return bin
}

// methodKey is that of a context that has the method of a request.
type methodKey struct{}

// without serves the MCP server at an address with a prefix less in the names of its tools.
func without(t *testing.T, addr, prefix string) string {
	t.Helper()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: addr})
			body, method := renamed(r.In.Body, prefix)
			if name := r.Out.Header.Get("Mcp-Name"); name != "" {
				r.Out.Header.Set("Mcp-Name", prefix+name)
			}
			r.Out = r.Out.WithContext(context.WithValue(r.Out.Context(), methodKey{}, method))
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.Request.Context().Value(methodKey{}) != "tools/list" {
				return nil
			}
			body, err := io.ReadAll(resp.Body)
			body = bytes.ReplaceAll(body, []byte(`"name":"`+prefix), []byte(`"name":"`))
			resp.Body = io.NopCloser(bytes.NewReader(body))
			resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
			return err
		},
		FlushInterval: -1,
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// renamed returns a message with the prefix before the name of the tool that it calls, and its
// method. What cannot be read is left to the server to refuse.
func renamed(r io.Reader, prefix string) (body []byte, method string) {
	body, _ = io.ReadAll(r)
	var message map[string]any
	if json.Unmarshal(body, &message) != nil {
		return body, ""
	}
	method, _ = message["method"].(string)
	if params, ok := message["params"].(map[string]any); ok && method == "tools/call" {
		params["name"] = fmt.Sprint(prefix, params["name"])
		body, _ = json.Marshal(message) // which was read from JSON
	}
	return body, method
}

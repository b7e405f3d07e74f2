// Package e2e walks through toolstream as its users do: the built binary, its
// command line and its HTTP API, in one process on an empty data folder.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/server/reindex"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == greets {
		os.Exit(greetOnStdio())
	}
	os.Exit(process.Main(m))
}

// up starts a process on the data folder.
func up(t *testing.T, data string, args ...string) *process.Process {
	t.Helper()
	return process.Start(t, process.Binary(), data, args...)
}

// patience bounds what would otherwise wait for ever.
const patience = time.Minute

// until is process.Until with the patience of this package.
func until(t *testing.T, check func() (bool, error)) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return process.Until(ctx, check)
}

// outcome is how a command ended.
type outcome struct {
	code        int
	out, errOut string
}

// cli runs a command; stdin may be "".
func cli(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), process.Binary(), args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("toolstream %q: %v", args, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// at runs a command against a process.
func at(t *testing.T, p *process.Process, args ...string) outcome {
	t.Helper()
	return cli(t, "", append(args, "--server", p.Client.Server)...)
}

// decode reads what a command printed with --json. Nothing is left of what was there
// before, as encoding/json would leave of maps.
func (o outcome) decode(t *testing.T, into any) {
	t.Helper()
	reflect.ValueOf(into).Elem().SetZero()
	d := json.NewDecoder(strings.NewReader(o.out))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v in what was printed:\n%s%s", err, o.out, o.errOut)
	}
}

// summary is what `import --json` ends with.
type summary struct {
	Accepted     int  `json:"accepted"`
	Unchanged    int  `json:"unchanged"`
	Rejected     int  `json:"rejected"`
	Deleted      int  `json:"deleted"`
	Indexed      *int `json:"indexed"`
	DeadLettered *int `json:"dead_lettered"`
	Errors       []struct {
		Source string `json:"source"`
		Line   int    `json:"line"`
		ID     string `json:"id"`
		Reason string `json:"reason"`
	} `json:"errors"`
	Documents []struct {
		Kind, ID, Provider, Format string
		Delete                     bool
		Fields                     []string
		Coverage                   float64
	} `json:"documents"`
}

// load imports and waits. Exit code 3 says that something was rejected; every
// other failure ends the test.
func load(t *testing.T, p *process.Process, args ...string) summary {
	t.Helper()
	o := at(t, p, append([]string{"import", "--wait", "--json"}, args...)...)
	if o.code != 0 && o.code != 3 {
		t.Fatalf("import %q: exit code %d\n%s", args, o.code, o.errOut)
	}
	var s summary
	o.decode(t, &s)
	if (o.code == 0) != (s.Rejected+*s.DeadLettered == 0) {
		t.Errorf("import %q: exit code %d with %d rejected and %d dead", args, o.code, s.Rejected, *s.DeadLettered)
	}
	waitForVectors(t, p)
	return s
}

// waitForVectors waits until Weaviate has all vectors, where searches ask it: what a
// replica has is searched by words before.
func waitForVectors(t *testing.T, p *process.Process) {
	t.Helper()
	check.OK(t, until(t, func() (bool, error) {
		var s status.Status
		err := p.Client.Get(t.Context(), "/v1/status", nil, &s)
		return !slices.ContainsFunc(s.Stages, func(st status.Stage) bool {
			return st.Name == reindex.WeaviateGroup && (st.Lag > 0 || st.Problem != "")
		}), err
	}))
}

// search returns an answer that lacks nothing. On a busy machine a part of the deployment may not
// answer in time, so a degraded answer is asked for again.
func search(t *testing.T, p *process.Process, req schema.SearchRequest) schema.SearchResponse {
	t.Helper()
	var answer schema.SearchResponse
	err := until(t, func() (bool, error) {
		answer = schema.SearchResponse{}
		err := p.Client.Post(t.Context(), "/v1/search", req, &answer)
		return len(answer.Degraded) == 0, err
	})
	if err != nil {
		t.Fatalf("search %.80q: degraded %q: %v", req.Query, answer.Degraded, err)
	}
	return answer
}

// found returns the ids of the best k results.
func found(t *testing.T, p *process.Process, query string, k int) []string {
	t.Helper()
	ids := []string{}
	for _, r := range search(t, p, schema.SearchRequest{Query: query, K: k}).Results {
		ids = append(ids, r.ID)
	}
	return ids
}

// entity is a tool or provider as the server shows it.
type entity struct {
	ID       string          `json:"id"`
	Provider string          `json:"provider"`
	Name     string          `json:"name"`
	Revision uint64          `json:"revision"`
	State    string          `json:"state"`
	Format   string          `json:"format"`
	Document schema.Document `json:"document"`
	Raw      json.RawMessage `json:"raw"`
}

func get(t *testing.T, p *process.Process, id string) (entity, bool) {
	t.Helper()
	var e entity
	err := p.Client.Get(t.Context(), client.Path("/v1/tools", id), nil, &e)
	if client.NotFound(err) {
		return e, false
	}
	if err != nil {
		t.Fatalf("get %q: %v", id, err)
	}
	return e, true
}

// revisions lists the tools of a provider, or all of them, with their revisions.
func revisions(t *testing.T, p *process.Process, provider string) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	query := url.Values{"limit": {"500"}}
	if provider != "" {
		query.Set("provider", provider)
	}
	for {
		var page struct {
			Tools  []entity `json:"tools"`
			Cursor string   `json:"cursor"`
		}
		check.OK(t, p.Client.Get(t.Context(), "/v1/tools", query, &page))
		for _, e := range page.Tools {
			if _, twice := all[e.ID]; twice {
				t.Errorf("%s is listed twice", e.ID)
			}
			all[e.ID] = e.Revision
		}
		if page.Cursor == "" {
			return all
		}
		query.Set("cursor", page.Cursor)
	}
}

// put writes a tool and waits until it can be searched.
func put(t *testing.T, p *process.Process, id, document string) {
	t.Helper()
	answer, _, err := p.Client.Send(t.Context(), http.MethodPut, client.Path("/v1/tools", id), nil, "application/json", strings.NewReader(document))
	if err != nil {
		t.Fatalf("put %q: %v", id, err)
	}
	defer answer.Close()
	var a struct {
		ID       string `json:"id"`
		Revision uint64 `json:"revision"`
	}
	if err := json.NewDecoder(answer).Decode(&a); err != nil {
		t.Fatalf("put %q: %v", id, err)
	}
	if state := settled(t, p, a.ID, a.Revision); state != "indexed" {
		t.Fatalf("put %q: %s", id, state)
	}
}

// settled waits until a change is indexed or dead, and returns which.
func settled(t *testing.T, p *process.Process, id string, revision uint64) string {
	t.Helper()
	state := ""
	process.Await(t, fmt.Sprintf("wait for %q", id), func() (bool, error) {
		var answer struct {
			States []struct {
				State string `json:"state"`
			} `json:"states"`
		}
		request := map[string]any{"changes": []map[string]any{{"id": id, "revision": revision}}}
		if err := p.Client.Post(t.Context(), "/v1/tools:states", request, &answer); err != nil {
			return false, err
		}
		state = answer.States[0].State
		return state == "indexed" || state == "dead_lettered", nil
	})
	return state
}

// metric sums the samples of a counter or gauge whose labels, as written in
// the exposition, contain the given text.
func metric(t *testing.T, p *process.Process, name, labels string) float64 {
	t.Helper()
	body, _, err := p.Client.Send(t.Context(), http.MethodGet, "/metrics", nil, "", nil)
	if err != nil {
		t.Fatalf("metrics: %v", err)
	}
	defer body.Close()
	sum, known := 0.0, false
	for lines := bufio.NewScanner(body); lines.Scan(); {
		sample, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || sample == "" || (sample[0] != ' ' && sample[0] != '{') {
			continue
		}
		known = true
		at := strings.LastIndexByte(sample, ' ')
		if !strings.Contains(sample[:at], labels) {
			continue
		}
		value, err := strconv.ParseFloat(sample[at+1:], 64)
		if err != nil {
			t.Fatalf("metric %s: %v", lines.Text(), err)
		}
		sum += value
	}
	if !known {
		t.Fatalf("there is no metric %s", name)
	}
	return sum
}

// memory reads a line of /proc/PID/status in bytes: VmRSS, or VmHWM for the
// peak. It is 0 where the system has no such file.
func memory(t *testing.T, p *process.Process, line string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	check.OK(t, err)
	for text := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(text, line+":"); ok {
			kib := check.Value(strconv.ParseInt(strings.Fields(rest)[0], 10, 64))(t)
			return kib << 10
		}
	}
	t.Fatalf("no %s in the status of the process", line)
	return 0
}

// dataSet returns the folder of a real data set, or skips.
func dataSet(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("TOOLSTREAM_DATA")
	if dir == "" || testing.Short() {
		t.Skip("TOOLSTREAM_DATA is not set, or -short: no real documents to work with")
	}
	return filepath.Join(dir, name)
}

// writeFile makes a file in a folder of the test.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const registry = "../../examples/registry/tools"

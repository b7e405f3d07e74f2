package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

const ndjson = "application/x-ndjson"

// lines reads an answer of JSON Lines: the outcomes, and the summary at the end.
func (r reply) lines(t testing.TB) ([]Outcome, *Summary) {
	t.Helper()
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != ndjson {
		t.Fatalf("%d %s %s", r.StatusCode, r.Header.Get("Content-Type"), r.body)
	}
	var out []Outcome
	all := bytes.Split(bytes.TrimSpace(r.body), []byte("\n"))
	for i, line := range all {
		var last struct{ Summary *Summary }
		if i == len(all)-1 {
			if err := json.Unmarshal(line, &last); err != nil || last.Summary == nil {
				t.Fatalf("no summary at the end: %s", line)
			}
			return out, last.Summary
		}
		var o Outcome
		if err := json.Unmarshal(line, &o); err != nil || o.State == "" {
			t.Fatalf("line %d: %s", i+1, line)
		}
		out = append(out, o)
	}
	return nil, nil
}

func (s *site) batch(query, body string, headers ...string) reply {
	s.t.Helper()
	return s.do(http.MethodPost, "/v1/tools:batch"+query, strings.NewReader(body), headers...)
}

func tool(name string) string {
	return fmt.Sprintf(`{"name":%q,"description":"Does %s.","inputSchema":{"type":"object"}}`, name, name)
}

func TestBatchAnswersEveryLine(t *testing.T) {
	s := serve(t, Config{})
	body := strings.Join([]string{
		tool("a"),
		``,
		`{"id":"b","provider":"other","document":` + tool("b") + `}`,
		`{"broken":}`,
		`{"id":"c","op":"delete"}`,
		`{"id":"m","kind":"provider","document":{"name":"Mail"}}`,
		`{"id":"bad\u0007","document":` + tool("x") + `}`,
		tool("a"),
		`{"id":"d","source_version":3,"document":` + tool("d") + `}`,
	}, "\n")
	out, summary := s.batch("", body, "Content-Type", ndjson).lines(t)
	want := []Outcome{
		{Line: 1, ID: "a", State: Accepted}, {Line: 3, ID: "b", State: Accepted}, {Line: 4, State: Rejected, Reason: "invalid JSON"},
		{Line: 5, ID: "c", State: Accepted, Deleted: true}, {Line: 6, ID: "m", Kind: "provider", State: Accepted},
		{Line: 7, State: Rejected, Reason: formats.InvalidID}, {Line: 8, ID: "a", State: Unchanged}, {Line: 9, ID: "d", State: Accepted},
	}
	if len(out) != len(want) {
		t.Fatalf("%d answers: %+v", len(out), out)
	}
	for i, w := range want {
		o := out[i]
		if o.Line != w.Line || o.State != w.State || o.Kind != w.Kind || o.Deleted != w.Deleted || w.Reason != "" && o.Reason != w.Reason || w.ID != "" && o.ID != w.ID {
			t.Errorf("answer %d is %+v, want %+v", i, o, w)
		}
		if o.State == Accepted && o.Revision == 0 || o.State == Rejected && o.Detail == "" {
			t.Errorf("answer %d says too little: %+v", i, o)
		}
	}
	if summary.Start == 0 || summary.Start > out[0].Revision {
		t.Errorf("start %d, first revision %d", summary.Start, out[0].Revision)
	}
	if summary.Start = 0; *summary != (Summary{Accepted: 4, Unchanged: 1, Rejected: 2, Deleted: 1}) {
		t.Errorf("summary %+v", summary)
	}
	if c := newest(t, s.bus, "b"); c.Provider != "other" {
		t.Errorf("owner %q", c.Provider)
	}
	if c := newest(t, s.bus, "d"); c.Source != 3 {
		t.Errorf("version %+v", c.Version)
	}
}

// A line of two bytes has an answer of a hundred, so very many are answered by their number: a client
// that reads nothing until it has sent everything would wait for ever.
func TestBatchCountsWhatItRejectsAfterTheFirst(t *testing.T) {
	const lines = 20_000
	s := serve(t, Config{})
	r := s.batch("", strings.Repeat("{}\n", lines)+tool("a")+"\n", "Content-Type", ndjson)
	out, summary := r.lines(t)
	if len(out) != maxAnswers+1 || out[maxAnswers-1].Line != maxAnswers || out[maxAnswers].State != Accepted || out[maxAnswers].Line != lines+1 {
		t.Errorf("%d answers, the last are %+v", len(out), out[max(0, len(out)-2):])
	}
	if summary.Rejected != lines || summary.Unshown != lines-maxAnswers || summary.Accepted != 1 {
		t.Errorf("summary %+v", summary)
	}
	t.Logf("%d bytes are answered with %d", lines*3, len(r.body))
}

// A client that reads nothing until it has sent everything gets its answer, too.
func TestBatchAnswersAClientThatReadsAtTheEnd(t *testing.T) {
	const lines = 5_000
	s := serve(t, Config{})
	s.bus.KeepAll() // compaction would take most of the time
	var body strings.Builder
	for i := range lines {
		fmt.Fprintf(&body, "%s\n{}\n", tool(fmt.Sprintf("t%d", i)))
	}
	conn := check.Value(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))(t)
	defer conn.Close()
	boundBuffers(t, conn)
	check.OK(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	req := check.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/tools:batch?provider="+strings.Repeat("p", 200), strings.NewReader(body.String())))(t)
	req.Header.Set("Content-Type", ndjson)
	check.OK(t, req.Write(conn))
	resp := check.Value(http.ReadResponse(bufio.NewReader(conn), req))(t)
	defer resp.Body.Close()
	out, summary := reply{resp, check.Value(io.ReadAll(resp.Body))(t)}.lines(t)
	if len(out) != 2*maxAnswers || out[2*maxAnswers-1].Line != 2*maxAnswers || summary.Accepted != lines || summary.Rejected != lines || summary.Unshown != 2*(lines-maxAnswers) {
		t.Errorf("%d answers, summary %+v", len(out), summary)
	}
	out, summary = s.batch("?answer_all=true", body.String(), "Content-Type", ndjson).lines(t)
	if len(out) != lines+maxAnswers || summary.Unshown != lines-maxAnswers {
		t.Errorf("to a client that reads: %d answers, summary %+v", len(out), summary)
	}
}

func TestBatchTakesWholeDocuments(t *testing.T) {
	openapi := "openapi: 3.0.0\ninfo: {title: Mail, version: '1'}\npaths:\n  /send:\n    post: {summary: Sends.}\n  /box:\n    get: {summary: Lists.}\n"
	for name, tc := range map[string]struct {
		body, contentType string
		ids               string
	}{
		"tools/list":     {`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tool("a") + `,` + tool("b") + `]}}`, "application/json", "mail/a mail/b"},
		"array":          {`[` + tool("a") + `,` + tool("b") + `]`, "application/json", "mail/a mail/b"},
		"OpenAPI, YAML":  {openapi, "application/yaml", "mail/GET /box mail/POST /send"},
		"one tool":       {tool("a"), "", "mail/a"},
		"one line":       {tool("a") + "\n", ndjson, "mail/a"},
		"a pretty print": {"{\n  \"name\": \"a\",\n  \"inputSchema\": {}\n}\n", "application/json", "mail/a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Config{})
			out, summary := s.batch("?provider=mail", tc.body, "Content-Type", tc.contentType).lines(t)
			ids := map[string]bool{}
			for _, o := range out {
				ids[o.ID] = true
			}
			for _, id := range strings.Split(strings.ReplaceAll(tc.ids, " /", "\x00/"), " ") {
				id = strings.ReplaceAll(id, "\x00", " ")
				if !ids[id] {
					t.Errorf("no %q in %+v", id, out)
				}
			}
			if summary.Accepted != len(out) {
				t.Errorf("summary %+v", summary)
			}
		})
	}
}

func TestBatchRefusesWhatHoldsNothing(t *testing.T) {
	s := serve(t, Config{MaxBody: 1000, MaxStream: 3000, MaxItems: 3})
	many := strings.Repeat(`{"name":"a"}`+"\n", 4)
	for name, tc := range map[string]struct {
		body, contentType, encoding string
		status                      int
	}{
		"empty":              {"", ndjson, "", 400},
		"empty list":         {"[]", "application/json", "", 400},
		"broken":             {`{"a":`, "application/json", "", 400},
		"not an OpenAPI":     {`{"openapi":"1.0","paths":{},"info":{}}`, "application/json", "", 422},
		"content type":       {tool("a"), "video/mp4", "", 415},
		"encoding":           {tool("a"), ndjson, "zstd", 415},
		"too long":           {`"` + strings.Repeat("x", 2000) + `"`, "application/json", "", 413},
		"too long zipped":    {zipped(t, `"`+strings.Repeat("x", 2000)+`"`), "application/json", "gzip", 413},
		"too many":           {many, ndjson, "", 413},
		"cut off":            {zipped(t, strings.Repeat(tool("a")+"\n", 9))[:60], ndjson, "gzip", 400},
		"unknown format":     {tool("a"), ndjson, "", 422},
		"zipped, undeclared": {zipped(t, strings.Repeat(" ", 4000)), "", "", 413},
		"zipped twice":       {zipped(t, zipped(t, strings.Repeat(" ", 4000))), "", "gzip", 413},
		"long stream":        {strings.Repeat("\n", 4000), ndjson, "", 413},
	} {
		t.Run(name, func(t *testing.T) {
			query := ""
			if name == "unknown format" {
				query = "?format=nonsense"
			}
			r := s.batch(query, tc.body, "Content-Type", tc.contentType, "Content-Encoding", tc.encoding)
			if r.problem(t); r.StatusCode != tc.status {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		})
	}
}

func TestBatchOneBadLineIsALine(t *testing.T) {
	s := serve(t, Config{})
	_, summary := s.batch("", `{"a":`+"\n", "Content-Type", ndjson).lines(t)
	if summary.Rejected != 1 || summary.Error != "" {
		t.Errorf("%+v", summary)
	}
}

// Answers come while the body is still being sent.
func TestBatchStreams(t *testing.T) {
	s := serve(t, Config{})
	in, out := io.Pipe()
	req := check.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/tools:batch", in))(t)
	req.Header.Set("Content-Type", ndjson)
	go func() {
		for i := range chunkItems {
			fmt.Fprintln(out, tool(fmt.Sprintf("tool-%d", i)))
		}
	}()
	resp := check.Value(s.c.Do(req))(t)
	defer resp.Body.Close()
	answers := bufio.NewScanner(resp.Body)
	for i := range chunkItems {
		if !answers.Scan() {
			t.Fatalf("answer %d: %v", i, answers.Err())
		}
	}
	check.OK(t, out.Close())
	if !answers.Scan() || !strings.Contains(answers.Text(), `"summary"`) {
		t.Errorf("after the end: %q", answers.Text())
	}
}

func TestBatchSaysWhereTheBusFailed(t *testing.T) {
	s := serve(t, Config{})
	var body strings.Builder
	for i := range 2 * chunkItems {
		fmt.Fprintln(&body, tool(fmt.Sprintf("tool-%d", i)))
	}
	down := errors.New("down")
	s.bus.Fail(onPublish(func(m stream.Message) error {
		if strings.HasSuffix(m.Key, "/tool-0") || len(s.bus.Messages(events.ToolsRaw)) < chunkItems {
			return nil
		}
		return down
	}))
	out, summary := s.batch("?sync=true&provider=mail", body.String(), "Content-Type", ndjson).lines(t)
	if len(out) != chunkItems || summary.Accepted != chunkItems || summary.Error == "" || summary.RetryAfter == 0 {
		t.Errorf("%d answers, summary %+v", len(out), summary)
	}
	s.bus.Fail(nil)
	out, summary = s.batch("?sync=true&provider=mail", body.String(), "Content-Type", ndjson).lines(t)
	if len(out) != 2*chunkItems || summary.Unchanged+summary.Accepted != 2*chunkItems || summary.Error != "" {
		t.Errorf("again: %d answers, summary %+v", len(out), summary)
	}
	s.bus.Fail(onPublish(func(stream.Message) error { return down }))
	if r := s.batch("", tool("new"), "Content-Type", ndjson); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("nothing answered yet: %d %s", r.StatusCode, r.body)
	}
}

func TestSync(t *testing.T) {
	full := tool("a") + "\n" + tool("b") + "\n" + tool("c") + "\n"
	for name, tc := range map[string]struct {
		second  string
		query   string
		deleted string
		held    bool
	}{
		"one is gone":                 {tool("a") + "\n" + tool("c") + "\n", "?provider=mail&sync=true", "mail/b", false},
		"without sync":                {tool("a") + "\n", "?provider=mail", "", false},
		"another provider":            {tool("a") + "\n", "?provider=post&sync=true", "", false},
		"nothing is gone":             {full, "?provider=mail&sync=true", "", false},
		"rejected with an id":         {tool("a") + "\n" + tool("b") + "\n" + `{"id":"mail/c","document":7}` + "\n", "?provider=mail&sync=true", "", false},
		"rejected without an id":      {tool("a") + "\n" + `{"x":` + "\n", "?provider=mail&sync=true", "", true},
		"providers named by envelope": {`{"id":"mail/a","provider":"mail","document":` + tool("a") + "}\n", "?sync=true", "mail/b mail/c", false},
		"another provider's tool":     {`{"id":"mail/a","provider":"post","document":` + tool("a") + "}\n" + tool("b") + "\n", "?sync=true", "", false},
		"taken over":                  {`{"id":"mail/a","provider":"post","document":` + tool("a") + "}\n", "?sync=true&take_over=true", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Config{})
			s.batch("?provider=mail", full, "Content-Type", ndjson).lines(t)
			s.put("mail/by-hand", tool("x"))
			out, summary := s.batch(tc.query, tc.second, "Content-Type", ndjson).lines(t)
			var deleted []string
			for _, o := range out {
				if o.Deleted {
					deleted = append(deleted, o.ID)
				}
			}
			if got := strings.Join(deleted, " "); got != tc.deleted || summary.Deleted != len(deleted) {
				t.Errorf("deleted %q, want %q; summary %+v", got, tc.deleted, summary)
			}
			if (summary.Withheld != "") != tc.held {
				t.Errorf("withheld: %q", summary.Withheld)
			}
		})
	}
}

func TestSyncOfSeveralBatches(t *testing.T) {
	s := serve(t, Config{})
	s.batch("?provider=mail", tool("a")+"\n"+tool("b")+"\n", "Content-Type", ndjson)
	s.batch("?provider=post", tool("c")+"\n", "Content-Type", ndjson)
	_, summary := s.batch("?provider=mail", tool("new")+"\n", "Content-Type", ndjson).lines(t)
	for _, tc := range []struct {
		body   string
		status int
		answer string
	}{
		{`{"providers":["mail","post"],"keep":["mail/a"],"dry_run":true}`, 200, `"missing":["mail/b","mail/new","post/c"]`},
		{`{"providers":["mail","post"],"keep":["mail/a"]}`, 422, `/upto`},
		{`{"providers":[],"keep":[],"upto":1}`, 422, `providers`},
		{fmt.Sprintf(`{"providers":["mail"],"keep":["mail/a"],"upto":%d}`, summary.Start), 200, `"id":"mail/b"`},
		{`{"providers":["mail","post"],"keep":["mail/a"],"dry_run":true}`, 200, `"missing":["mail/new","post/c"]`},
	} {
		r := s.do(http.MethodPost, "/v1/tools:sync", strings.NewReader(tc.body), "Content-Type", "application/json")
		if r.StatusCode != tc.status || !strings.Contains(string(r.body), tc.answer) {
			t.Errorf("%s: %d %s", tc.body, r.StatusCode, r.body)
		}
	}
}

// A tool that comes from elsewhere while a batch is read is not the batch's to
// delete.
func TestSyncLeavesAloneWhatCameLater(t *testing.T) {
	s := serve(t, Config{})
	accept(t, s.s, owned(doc("old", "x"), "mail"), owned(doc("renewed", "x"), "mail"))
	b := s.s.newBatch(home, "mail", true, Options{})
	check.Value(b.Accept(t.Context(), []formats.Item{owned(doc("kept", "x"), "mail")}))(t)
	accept(t, s.s, owned(doc("new", "x"), "mail"), owned(doc("renewed", "y"), "mail"))
	out, err := b.Finish(t.Context())
	if err != nil || len(out) != 1 || out[0].ID != "old" || !out[0].Deleted {
		t.Errorf("%+v, %v", out, err)
	}
	if n := b.Summary.Deleted; n != 1 {
		t.Errorf("%d deleted", n)
	}
}

// A sync that deletes very many does so commit by commit, and what fails in the
// middle is gone on with.
func TestSyncDeletesPieceByPiece(t *testing.T) {
	s := serve(t, Config{})
	var items []formats.Item
	for i := range 2*groupItems + 10 {
		items = append(items, owned(doc(fmt.Sprintf("tool-%04d", i), "x"), "mail"))
	}
	accept(t, s.s, items...)
	most, fail := 0, true
	s.bus.Fail(func(c streamtest.Call) error {
		if c.Op != streamtest.OpPublish {
			return nil
		}
		most = max(most, len(c.Messages))
		if fail && strings.HasSuffix(c.Messages[0].Key, "/tool-1000") {
			return errors.New("down")
		}
		return nil
	})
	b := s.s.newBatch(home, "mail", true, Options{})
	out, err := b.Finish(t.Context())
	if err == nil || len(out) != groupItems || b.Summary.Deleted != groupItems {
		t.Errorf("%d outcomes, %+v, %v", len(out), b.Summary, err)
	}
	fail = false
	b = s.s.newBatch(home, "mail", true, Options{})
	if out, err = b.Finish(t.Context()); err != nil || len(out) != groupItems+10 {
		t.Errorf("%d outcomes, %v", len(out), err)
	}
	if most > groupItems {
		t.Errorf("%d records in one commit", most)
	}
}

func TestBatchSaysThatItEndedEarly(t *testing.T) {
	s := serve(t, Config{MaxItems: chunkItems + 1})
	var body strings.Builder
	for i := range chunkItems + 2 {
		fmt.Fprintln(&body, tool(fmt.Sprintf("tool-%d", i)))
	}
	out, summary := s.batch("", body.String(), "Content-Type", ndjson).lines(t)
	if len(out) != chunkItems || !strings.Contains(summary.Error, "more than") || summary.RetryAfter != 0 {
		t.Errorf("%d answers, %+v", len(out), summary)
	}
}

// A batch does not replace a document that an earlier batch of its import sent, be it new or known. It
// replaces earlier documents, and its own.
func TestBatchesOfAnImportKeepWhatTheyGave(t *testing.T) {
	s := serve(t, Config{})
	line := func(id, text string, more string) string {
		return `{"id":"` + id + `"` + more + `,"document":{"name":"` + id + `","description":"` + text + `"}}` + "\n"
	}
	first := line("a", "One.", "") + line("b", "One.", "")
	second := line("a", "Two.", "") + line("a", "One.", "") + line("a", "Three.", "") + line("c", "Two.", "") + line("c", "Three.", "")
	wanted := func(query, body, want string) *Summary {
		t.Helper()
		out, summary := s.batch(query, body, "Content-Type", ndjson).lines(t)
		if got := states(out); got != want {
			t.Errorf("%s, want %s: %+v", got, want, out)
		}
		return summary
	}
	for n, before := range []string{"accepted accepted", "unchanged unchanged"} {
		since := fmt.Sprintf("?import_start=%d", wanted("", first, before).Start)
		c := "superseded accepted"
		wanted(since, second, "rejected unchanged rejected "+c)
		wanted(since, line("b", "Two.", fmt.Sprintf(`,"source_version":%d`, 2*n+1))+`{"id":"a","op":"delete"}`+"\n", "accepted accepted")
		wanted(since, line("a", "Two.", ""), "accepted")
		wanted(since, line("a", "One.", ""), "rejected")
		wanted("", line("b", "One.", fmt.Sprintf(`,"source_version":%d`, 2*n+2))+line("a", "One.", ""), "accepted accepted")
	}
}

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/services/trainer"
)

// learner is a server with learned weights and with used tools, in pages of two.
func learner(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, body string) { w.Write([]byte(body)) }
	mux.HandleFunc("GET /v1/weights", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, `{"live":"builtin","pinned":false,"versions":[{"version":"w1-0","state":"kept","epoch":7}],"damaged":[]}`)
	})
	mux.HandleFunc("GET /v1/weights/{version}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, `{"version":"w1-0","state":"live","parent":"builtin","words":["the words of the examples now count","the number of uses counts less (-20%)"]}`)
	})
	mux.HandleFunc("GET /v1/usage", func(w http.ResponseWriter, r *http.Request) {
		pages := map[string]string{
			"":  `{"tools":[{"id":"a","uses":9},{"id":"b","uses":7}],"withheld":false,"clicks":{"searches":20,"moved":4,"gain":0.25},"cursor":"b"}`,
			"b": `{"tools":[{"id":"c","uses":3},{"id":"d","uses":1}],"withheld":true,"clicks":{"searches":20,"moved":4},"cursor":"d"}`,
			"d": `{"tools":[{"id":"e","uses":0,"shown":5}],"withheld":true}`,
		}
		switch q := r.URL.Query(); {
		case q.Get("id") != "":
			answer(w, fmt.Sprintf(`{"tools":[{"id":%q,"uses":2,"shown":4,"selected":3}],"withheld":false}`, q.Get("id")))
		case q.Get("limit") == "1":
			answer(w, `{"tools":[{"id":"a","uses":9}],"withheld":false,"cursor":"a"}`)
		default:
			answer(w, pages[q.Get("cursor")])
		}
	})
	return serveJSON(t, mux.ServeHTTP)
}

func TestWhatIsLearnedIsToldInWords(t *testing.T) {
	server := learner(t)
	for args, says := range map[string]string{
		"weights show w1-0": "changed against builtin:\n   the words of the examples now count\n   the number of uses counts less (-20%)\n",
		"weights list":      "kept   w1-0",
		"usage":             "uses have no say in rankings",
		"usage x":           "x   2.0   4      3",
		"usage --limit 4":   "clicks moved results of 4 of 20 searches with feedback\n",
	} {
		if code, out, errOut := called(t, append(strings.Fields(args), "--server", server)...); code != program.Done || !strings.Contains(out, says) {
			t.Errorf("%s: exit code %d: %s%s", args, code, out, errOut)
		}
	}
}

func TestUsageReadsAsManyPagesAsAreWanted(t *testing.T) {
	server := learner(t)
	for args, want := range map[string]string{"--limit 1": "a", "--limit 4": "abcd", "--limit 0": "abcde", "": "abcde", "only": "only"} {
		code, out, errOut := called(t, append(strings.Fields("usage --json "+args), "--server", server)...)
		var page trainer.UsagePage
		if err := json.Unmarshal([]byte(out), &page); code != program.Done || err != nil {
			t.Fatalf("%s: %v, %d %s", args, err, code, errOut)
		}
		got := ""
		for _, u := range page.Tools {
			got += u.ID
		}
		if got != want {
			t.Errorf("%q lists %s, want %s", args, got, want)
		}
	}
	if code, _, _ := called(t, "usage", "--limit", "-1", "--server", server); code != program.Usage {
		t.Errorf("a limit below 0: exit code %d", code)
	}
}

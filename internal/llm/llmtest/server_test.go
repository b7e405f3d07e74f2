package llmtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/adapter/openai"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T, cfg llmtest.Config) *llmtest.Server {
	t.Helper()
	s, err := llmtest.Listen(t.Context(), "", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// post sends a body to the handler, and returns what it answers.
func post(t *testing.T, s *llmtest.Server, body string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
	return w.Result(), w.Body.String()
}

const asked = `{"model":"scripted","messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"two words"}]}]%s}`

func TestTheProtocol(t *testing.T) {
	s := llmtest.New(llmtest.Config{Answer: func(r llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Content: fmt.Sprintf(`{"system": %q, "user": %q, "times": %d}`, r.System, r.User, r.Times)}
	}})
	for times := 1; times <= 2; times++ {
		resp, body := post(t, s, fmt.Sprintf(asked, ""))
		var c struct {
			Choices []struct {
				Message struct{ Content string }
				Finish  string `json:"finish_reason"`
			}
			Usage map[string]int
		}
		if err := json.Unmarshal([]byte(body), &c); err != nil || resp.StatusCode != 200 || len(c.Choices) != 1 {
			t.Fatalf("%d %s, %v", resp.StatusCode, body, err)
		}
		want := fmt.Sprintf(`{"system": "be brief", "user": "two words", "times": %d}`, times)
		if c.Choices[0].Message.Content != want || c.Choices[0].Finish != "stop" {
			t.Errorf("%+v", c.Choices[0])
		}
		if !maps.Equal(c.Usage, map[string]int{"prompt_tokens": 4, "completion_tokens": 8, "total_tokens": 12}) {
			t.Errorf("usage %v", c.Usage)
		}
	}
	if c := s.Counts(); c.Calls != 2 || c.Prompt != 8 || c.By["answered"] != (llmtest.Tally{Calls: 2, Prompt: 8, Completion: 16}) {
		t.Errorf("%+v", c)
	}
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	schema := func(s string) string {
		return fmt.Sprintf(asked, `,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":`+s+`}}`)
	}
	for body, status := range map[string]int{
		"{":                                  400,
		`{"model":"scripted"}`:               400,
		fmt.Sprintf(asked, `,"stream":true`): 400,
		strings.Replace(fmt.Sprintf(asked, ""), "scripted", "other", 1):                                                400,
		schema(`{"type":"string"}`):                                                                                    400,
		schema(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`):                              400,
		schema(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`):                  400,
		schema(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`): 200,
	} {
		if resp, answer := post(t, llmtest.New(llmtest.Config{}), body); resp.StatusCode != status {
			t.Errorf("%s: %d %s", body, resp.StatusCode, answer)
		}
	}
}

func TestModelsAndKeys(t *testing.T) {
	s := listen(t, llmtest.Config{Key: "k"})
	for key, status := range map[string]int{"": 401, "wrong": 401, "k": 200} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status || strings.Contains(string(body), `"scripted"`) != (status == 200) {
			t.Errorf("key %q: %d %s %v", key, resp.StatusCode, body, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

const tool = `{"description":"It sings.","parameters":[{"name":"song","description":"Which."},{"name":"key","description":"How high."}]}`

func TestFaultsOfTheContent(t *testing.T) {
	s := llmtest.New(llmtest.Config{Answer: func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Content: tool} }})
	for fault, want := range map[llmtest.Fault]string{
		llmtest.CutJSON:    `"finish_reason":"length"`,
		llmtest.Prose:      `Certainly`,
		llmtest.Refusal:    `"content":null`,
		llmtest.NoChoices:  `"choices":[]`,
		llmtest.WrongShape: `unexpected`,
		llmtest.Invented:   `\"name\":\"quux_override\"`,
		llmtest.Missing:    `"{\"description\":\"It sings.\",\"parameters\":[{\"description\":\"Which.\",\"name\":\"song\"}]}"`,
		llmtest.Echo:       `\"description\":\"be brief\\ntwo words\"`,
	} {
		s.Inject(fault)
		if _, body := post(t, s, fmt.Sprintf(asked, "")); !strings.Contains(body, want) {
			t.Errorf("%s: %s", fault, body)
		}
	}
}

func TestRecordingsGoBeforeRules(t *testing.T) {
	s := llmtest.New(llmtest.Config{
		Recordings: map[string]string{"two words": `{"recorded":true}`},
		KeyOf:      func(r llmtest.Request) string { return r.User },
	})
	if _, body := post(t, s, fmt.Sprintf(asked, "")); !strings.Contains(body, "recorded") {
		t.Error(body)
	}
	if _, body := post(t, s, strings.Replace(fmt.Sprintf(asked, ""), "two", "three", 1)); strings.Contains(body, "recorded") {
		t.Error(body)
	}
}

// The faults of a seed are the same in whatever order the questions come.
func TestChanceDependsOnTheQuestionAlone(t *testing.T) {
	faulty := func(order []int) (list []string) {
		s := llmtest.New(llmtest.Config{Faults: llmtest.Mixed(7, 0.3, llmtest.ServerFail)})
		for _, i := range order {
			question := fmt.Sprintf("question %d", i)
			resp, _ := post(t, s, strings.Replace(fmt.Sprintf(asked, ""), "two words", question, 1))
			if resp.StatusCode != 200 {
				list = append(list, question)
			}
		}
		slices.Sort(list)
		return list
	}
	order := make([]int, 1000)
	for i := range order {
		order[i] = i
	}
	ahead := faulty(order)
	slices.Reverse(order)
	if back := faulty(order); !slices.Equal(ahead, back) {
		t.Errorf("%d faults ahead, %d back", len(ahead), len(back))
	}
	if len(ahead) < 240 || len(ahead) > 360 {
		t.Errorf("%d faults in 1000 at 30%%", len(ahead))
	}
}

// Every fault at once at 30 %: whoever asks through the client gets an answer
// or an error of a kind, asks no more often than allowed, and accounts for what
// the server served.
func TestAccountsAgreeUnderFaults(t *testing.T) {
	const questions, attempts = 300, 3
	s := listen(t, llmtest.Config{
		Answer: func(r llmtest.Request) llmtest.Reply { return llmtest.Reply{Content: tool} },
		Faults: llmtest.Mixed(3, 0.3, llmtest.All()...), SlowEvery: 10 * time.Microsecond,
	})
	// A 429 that asks for a whole second would make this slow: the header is dropped.
	chat, err := openai.NewChat(openai.ChatConfig{URL: s.URL(), Name: "scripted", Schema: openai.SchemaStrict}, hasty{http.DefaultTransport.(*http.Transport).Clone()})
	if err != nil {
		t.Fatal(err)
	}
	client, err := llm.New(llm.Config{
		Timeout: 4 * time.Second, Attempts: attempts, Parallel: 16, Prices: llm.Prices{Prompt: 1, Completion: 10},
		Breaker: llm.Breaker{Row: 1000, Share: 1},
	}, llm.Deps{Model: chat, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := ask(t, client, questions)
	t.Log(outcomes, s.Counts())
	if err := chat.Close(); err != nil {
		t.Error(err)
	}
	served, spent := s.Counts(), client.Spent()
	var prompt, completion, calls int64
	for _, a := range spent.Accounts {
		prompt, completion = prompt+a.Prompt, completion+a.Completion
		for _, n := range a.Calls {
			calls += n
		}
	}
	if prompt != int64(served.Prompt) || completion != int64(served.Completion) || calls != int64(served.Calls) {
		t.Errorf("accounts: %d calls, %d and %d tokens; served %d, %d and %d", calls, prompt, completion, served.Calls, served.Prompt, served.Completion)
	}
	if want := (float64(served.Prompt) + 10*float64(served.Completion)) / 1e6; spent.Dollars < want*0.999999 || spent.Dollars > want*1.000001 {
		t.Errorf("%v dollars, want %v", spent.Dollars, want)
	}
	if served.Calls > questions*attempts {
		t.Errorf("%d calls for %d questions of %d attempts", served.Calls, questions, attempts)
	}
	for _, fault := range llmtest.All() {
		if served.By[string(fault)].Calls == 0 {
			t.Errorf("%s never happened", fault)
		}
	}
}

// ask asks many questions at once, and counts what came of them.
func ask(t *testing.T, client *llm.Client, n int) map[string]int {
	var mu sync.Mutex
	outcomes := map[string]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			a, err := client.Complete(t.Context(), llm.Request{
				Stage: llm.StageStandardize, Tenant: fmt.Sprint("tenant", i%3), System: "s", User: fmt.Sprint("question ", i), MaxTokens: 100,
				Schema: llm.Schema{Name: "tool", JSON: json.RawMessage(`{"type":"object","additionalProperties":false,"required":[],"properties":{}}`)},
			})
			outcome := string(llm.KindOf(err))
			if err == nil && bytes.HasPrefix(a.JSON, []byte("{")) {
				outcome = "answered"
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[outcome]++
		})
	}
	wg.Wait()
	if outcomes[""] > 0 {
		t.Errorf("%d answers without a JSON object or a kind", outcomes[""])
	}
	return outcomes
}

// hasty drops Retry-After.
type hasty struct{ *http.Transport }

func (h hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.Transport.RoundTrip(r)
	if err == nil {
		resp.Header.Del("Retry-After")
	}
	return resp, err
}

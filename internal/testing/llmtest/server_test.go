package llmtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T, cfg llmtest.Config) *llmtest.Server {
	t.Helper()
	s, err := llmtest.Listen(t.Context(), "", cfg)
	check.OK(t, err)
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
		check.OK(t, err)
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		check.OK(t, err)
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

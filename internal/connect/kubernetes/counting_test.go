package kubernetes

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// Whoever may make objects decides on their content: a list and each event of a watch are counted.
func TestAnswersOfTheAPIAreCounted(t *testing.T) {
	event := `{"type":"ADDED","object":{}}` + "\n"
	large := `{"type":"ADDED","object":{"spec":[` + strings.Repeat("[],", jsondoc.DefaultNodes) + `[]]}}`
	for path, text := range map[string]string{
		"/list":         `{"items":[` + strings.Repeat("{},", ofAList.Nodes) + `{}]}`,
		"/list?watch=1": strings.Repeat(event, 10) + large,
		"/apis":         `{"items":[` + strings.Repeat("{},", ofAList.Nodes) + `{}]}`,
		"/short":        strings.Repeat(event, 10),
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		client := &http.Client{Transport: counting{http.DefaultTransport}}
		var err error
		if path == "/apis" {
			_, err = (&discovery{client: http.DefaultClient, base: check.Value(url.Parse(server.URL))(t)}).served(t.Context(), nil)
		} else {
			resp := check.Value(client.Get(server.URL + path))(t)
			_, err = io.Copy(io.Discard, resp.Body)
			check.OK(t, resp.Body.Close())
		}
		var refused *jsondoc.Error
		if got := errors.As(err, &refused); got != (path != "/short") {
			t.Errorf("%s: %v", path, err)
		}
		server.Close()
	}
}

package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// written is a result as a tool wrote it. The SDK writes it in place of its own.
type written struct {
	*sdk.CallToolResult
	result []byte  // an object, which may grow; nil: the SDK's own
	answer *splice // nil without HTTP
}

type writtenKey struct{}

// MarshalJSON implements json.Marshaler. The SDK's own result has what the protocol of the client wants
// in addition.
func (w *written) MarshalJSON() ([]byte, error) {
	own, err := json.Marshal(w.CallToolResult)
	if err != nil {
		return nil, err
	}
	result := w.result
	if kind := jsondoc.Member(own, "resultType"); kind != nil {
		result = append(append(append(result[:len(result)-1], `,"resultType":`...), kind...), '}')
	}
	if w.answer == nil {
		return result, nil
	}
	w.answer.result = result
	return mark, nil
}

var mark = []byte(`"the result is here"`)

// splice is an HTTP answer, and puts a result where the SDK has written the mark. The SDK would check
// and copy the result several times.
type splice struct {
	http.ResponseWriter
	result []byte // nil: nothing is marked
}

type spliceKey struct{}

// Write implements http.ResponseWriter: the SDK writes each message with one call. The result comes
// last in it.
func (s *splice) Write(p []byte) (int, error) {
	at := bytes.LastIndex(p, mark)
	if s.result == nil || at < 0 {
		return s.ResponseWriter.Write(p)
	}
	for _, part := range [][]byte{p[:at], s.result, p[at+len(mark):]} {
		if _, err := s.ResponseWriter.Write(part); err != nil {
			return 0, err
		}
	}
	s.result = nil
	return len(p), nil
}

// Unwrap is for http.ResponseController.
func (s *splice) Unwrap() http.ResponseWriter { return s.ResponseWriter }

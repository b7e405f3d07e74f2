package relevance

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// WriteQueries writes the rankings of a run, a query a line.
func WriteQueries(w io.Writer, queries []QueryResult) error {
	buffered := bufio.NewWriter(w)
	lines := json.NewEncoder(buffered)
	lines.SetEscapeHTML(false)
	for i := range queries {
		if err := lines.Encode(&queries[i]); err != nil {
			return fmt.Errorf("write rankings: %w", err)
		}
	}
	return buffered.Flush()
}

// ReadQueries reads the output of WriteQueries. A repeated id is an error.
func ReadQueries(r io.Reader) ([]QueryResult, error) {
	var queries []QueryResult
	seen := map[string]bool{}
	lines := json.NewDecoder(r)
	for {
		var line struct {
			QueryResult
			Metrics *Metrics `json:"metrics"` // a pointer, to detect that it is absent
		}
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			return queries, nil
		}
		if err == nil && line.Metrics == nil {
			err = errors.New("it has no metrics")
		}
		if err != nil {
			return nil, fmt.Errorf("ranking %d: %w", len(queries)+1, err)
		}
		q := line.QueryResult
		q.Metrics = *line.Metrics
		if q.ID == "" || seen[q.ID] {
			return nil, fmt.Errorf("ranking %d: the id of its query is %q, which is empty or was there before", len(queries)+1, q.ID)
		}
		seen[q.ID] = true
		queries = append(queries, q)
	}
}

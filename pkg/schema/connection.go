package schema

// Connection says whether a tool can be called through this server by who asks.
type Connection struct {
	Connected   bool    `json:"connected"`
	Why         string  `json:"why,omitempty"`         // it cannot be called
	Destructive bool    `json:"destructive,omitempty"` // a call may change or delete what is there
	Health      *Health `json:"health,omitempty"`      // of recent calls; absent where there were none
}

// Health is how the recent calls of a tool went. What is ten minutes old counts half.
type Health struct {
	Calls         float64 `json:"calls"`                     // how many, those long ago for less
	ErrorRate     float64 `json:"error_rate"`                // share without an answer of the tool, from 0 to 1
	ToolErrorRate float64 `json:"tool_error_rate,omitempty"` // share of which the tool says that it failed
	P50MS         float64 `json:"p50_ms,omitempty"`          // median time of an answer
}

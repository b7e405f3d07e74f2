package schema

// Connection says whether the caller can call a tool through this server.
type Connection struct {
	Connected   bool    `json:"connected"`
	Why         string  `json:"why,omitempty"`         // The reason why the tool cannot be called.
	Reason      Reason  `json:"reason,omitempty"`      // The class of the reason.
	Destructive bool    `json:"destructive,omitempty"` // Whether a call may change or delete existing things.
	Health      *Health `json:"health,omitempty"`      // The health of recent calls, absent without any.
}

// Health summarises the recent calls of a tool. A call that is ten minutes old counts half.
type Health struct {
	Calls         float64 `json:"calls"`                     // The number of calls, with older calls counting less.
	ErrorRate     float64 `json:"error_rate"`                // The share of calls that the tool did not answer, from 0 to 1.
	ToolErrorRate float64 `json:"tool_error_rate,omitempty"` // The share of calls in which the tool reports a failure.
	P50MS         float64 `json:"p50_ms,omitempty"`          // The median time of an answer in milliseconds.
}

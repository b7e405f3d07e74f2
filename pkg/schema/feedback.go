package schema

import "slices"

// MaxFeedbackID is the longest id of a feedback event, in bytes: long enough
// for search, tool and event together.
const MaxFeedbackID = 1 << 10

// MaxClient is the longest name of a client, in bytes.
const MaxClient = 256

// FeedbackEvents lists every event, from the weakest sign of use to the
// strongest, then the bad events, then events that teach nothing.
func FeedbackEvents() []FeedbackEvent {
	return []FeedbackEvent{Selected, Called, Succeeded, Failed, Rejected, ProtocolError, Timeout, Refused, InvalidArguments}
}

// Teaches reports whether an event says something about the tool's relevance.
func (e FeedbackEvent) Teaches() bool {
	return !slices.Contains([]FeedbackEvent{ProtocolError, Timeout, Refused, InvalidArguments}, e)
}

// Validate checks a feedback event. Clients send no tenant, so that it may be absent. The error
// is an *Invalid.
func (f *Feedback) Validate() error {
	var c checks
	c.text("/id", f.ID, MaxFeedbackID)
	if f.Tenant != "" {
		c.add(ValidateTenant(f.Tenant))
	}
	c.text("/client", f.Client, MaxClient)
	c.text("/credential", f.Credential, MaxClient)
	if f.Event == Forget {
		c.must(f.Client+f.Credential != "", "/client", "", "must name a client, or credential must name one")
		return c.err
	}
	c.add(checkID("/search_id", f.SearchID))
	c.add(checkID("/tool_id", f.ToolID))
	c.must(slices.Contains(FeedbackEvents(), f.Event), "/event", string(f.Event), "must be one of %v", FeedbackEvents())
	return c.err
}

// Identity returns what makes the event count once: its id, else search, tool
// and event.
func (f *Feedback) Identity() string {
	if f.ID != "" {
		return f.ID
	}
	return f.SearchID + "/" + f.ToolID + "/" + string(f.Event)
}

package schema

// MaxFeedbackID is the longest id of a feedback event, in bytes: long enough
// for search, tool and event together.
const MaxFeedbackID = 1 << 10

// MaxClient is the longest name of a client, in bytes.
const MaxClient = 256

// FeedbackEvents lists every event, from the weakest sign of use to the
// strongest, then the bad ones.
func FeedbackEvents() []FeedbackEvent {
	return []FeedbackEvent{Selected, Called, Succeeded, Failed, Rejected}
}

// Validate checks a feedback event. The tenant is checked where there is one:
// a client does not send it. The error is an *Invalid.
func (f *Feedback) Validate() error {
	if err := checkText("/id", f.ID, MaxFeedbackID); err != nil {
		return err
	}
	if f.Tenant != "" {
		if err := ValidateTenant(f.Tenant); err != nil {
			return err
		}
	}
	if err := checkID("/search_id", f.SearchID); err != nil {
		return err
	}
	if err := checkID("/tool_id", f.ToolID); err != nil {
		return err
	}
	if err := checkText("/client", f.Client, MaxClient); err != nil {
		return err
	}
	return f.Event.validate()
}

func (e FeedbackEvent) validate() error {
	for _, known := range FeedbackEvents() {
		if e == known {
			return nil
		}
	}
	return invalid("/event", string(e), "must be one of %v", FeedbackEvents())
}

// Identity returns what makes the event count once: its id, else search, tool
// and event.
func (f *Feedback) Identity() string {
	if f.ID != "" {
		return f.ID
	}
	return f.SearchID + "/" + f.ToolID + "/" + string(f.Event)
}

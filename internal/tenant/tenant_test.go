package tenant

import "testing"

func TestFrom(t *testing.T) {
	if got := From(t.Context()); got != Default {
		t.Errorf("without a credential: %q", got)
	}
	if got := From(With(t.Context(), "acme")); got != "acme" {
		t.Errorf("got %q", got)
	}
}

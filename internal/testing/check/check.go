// Package check ends tests whose preparations fail.
package check

// T is what ends a test: a testing.TB, or a *rapid.T.
type T interface {
	Helper()
	Fatal(args ...any)
}

// OK ends the test if err is an error.
func OK(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value returns the value of a call that may fail, as in Value(os.ReadFile(name))(t),
// and ends the test if it did.
func Value[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		OK(t, err)
		return v
	}
}

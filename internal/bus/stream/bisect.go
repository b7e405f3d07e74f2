package stream

// Bisect does something with items, in their order. An item that fails for good must not fail
// the others: it is found by bisection, and refused. Others may be done twice, the first time
// together with it. Any other error ends it without the remaining items.
func Bisect[T any](items []T, do func([]T) error, refuse func(T, *PermanentError)) error {
	err := do(items)
	p, permanent := AsPermanent(err)
	if !permanent {
		return err
	}
	if len(items) == 1 {
		refuse(items[0], p)
		return nil
	}
	half := len(items) / 2
	if err := Bisect(items[:half], do, refuse); err != nil {
		return err
	}
	return Bisect(items[half:], do, refuse)
}

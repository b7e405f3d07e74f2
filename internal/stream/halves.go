package stream

// ByHalves does something with items, in their order. One with which it fails for good
// must not keep back the others: it is found by halves, and refused. Others may be done
// twice, the first time together with it. Any other error ends it, and what is left is
// not done.
func ByHalves[T any](items []T, do func([]T) error, refuse func(T, *PermanentError)) error {
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
	if err := ByHalves(items[:half], do, refuse); err != nil {
		return err
	}
	return ByHalves(items[half:], do, refuse)
}

package toolschema

import (
	"context"
	"errors"
)

// maxWork bounds the work of one check of arguments: to compile the schema, and to apply it. Work
// is counted in nanoseconds that a step takes at most on a slow processor, so that the whole takes
// 50 ms. A byte that is allocated counts as workPerByte, so that the whole takes 16 MB.
const (
	maxWork     = 50_000_000
	workPerByte = 3
)

// Costs of steps.
const (
	workApply   = 60  // to apply a schema to a value
	workMember  = 160 // to visit a member of an object in order
	workCompare = 15  // to compare two names
	workLookup  = 40  // to look up a member
	workNumber  = 2_000
	workLong    = 40_000 // a number of many digits
	workStep    = 16     // an instruction of a pattern for one byte of a text
	workFound   = 1_000  // a mistake that is kept
)

// errWork says that a check costs more than maxWork, or goes deeper than maxApplied.
var errWork = errors.New("the input schema is too complex to check arguments against")

// work is what one check may still spend.
type work struct {
	ctx   context.Context
	left  int
	asked int // of left, when the context was asked last
}

func newWork(ctx context.Context) *work {
	return &work{ctx: ctx, left: maxWork, asked: maxWork}
}

// stopped is the panic that ends a check.
type stopped struct{ err error }

// spend counts work that is about to be done. It panics with stopped if there is too much of it, or
// if the context has ended.
func (w *work) spend(cost int) {
	if w.left -= cost; w.left < 0 {
		panic(stopped{errWork})
	}
	if w.asked-w.left > maxWork/64 {
		w.asked = w.left
		if w.ctx.Err() != nil {
			panic(stopped{context.Cause(w.ctx)})
		}
	}
}

// within calls f, and returns why it stopped.
func (w *work) within(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stopped)
			if !ok {
				panic(r)
			}
			err = s.err
		}
	}()
	f()
	return nil
}

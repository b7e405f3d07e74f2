package flat

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// mapping is a file as memory. It ends when nothing refers to it any more, and
// not with Close: a search that has begun goes on to the end. Whoever reads
// data refers to it.
type mapping struct{ data []byte }

// mapFile maps a whole file, which has to stay as it is.
func mapFile(f *os.File) (*mapping, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, release, err := mapped(f, int(info.Size()))
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	m := &mapping{data: data}
	runtime.AddCleanup(m, func(data []byte) { release(data) }, data)
	return m, nil
}

// guarded calls fn, which reads mapped memory, and returns an error where a
// page of it can not be read. Without it that ends the process.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, fault := p.(interface{ Addr() uintptr }); !fault {
			panic(p)
		}
		err = fmt.Errorf("%w: a page can not be read: %v", errCache, p)
	}()
	return fn()
}

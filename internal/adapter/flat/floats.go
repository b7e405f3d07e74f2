package flat

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// bytesOf returns the memory of a vector, little-endian on every machine that
// this runs on fast.
func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// littleEndian reports how this machine keeps numbers; the compiler knows.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// floats reads little-endian components into memory, which grows as needed, or
// into memory of their own where it is nil.
func floats(memory *[]float32, raw []byte) []float32 {
	n := len(raw) / 4
	if memory == nil {
		memory = new([]float32)
	}
	if cap(*memory) < n {
		*memory = make([]float32, n)
	}
	out := (*memory)[:n]
	if littleEndian() {
		copy(bytesOf(out), raw)
		return out
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// appendFloats writes little-endian components.
func appendFloats(b []byte, v []float32) []byte {
	if littleEndian() {
		return append(b, bytesOf(v)...)
	}
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

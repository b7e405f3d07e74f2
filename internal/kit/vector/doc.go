// Package vector computes inner products: exactly, in float32, and fast, over rows quantised to
// eight bits.
//
// A quantised row holds each component as an unsigned byte, 128 above its signed value in [-127,
// 127], with one scale for the whole row. The other side, a Query, is signed. The AVX-512 VNNI
// instruction VPDPBUSD multiplies this pair of signs, and the correction for the offset (128 times
// the sum of the query's codes) moves out of the rows: it is one constant per query.
//
// On amd64 the kernels are assembly, chosen by the processor's features: AVX-512 VNNI, AVX2, or
// plain Go. Every kernel computes the same integers, so Similarities are the same bits everywhere.
// Dot adds in a different order on each, so it may differ in the last bits between machines.
package vector

// Package vector computes inner products: exactly, in float32, and fast, over
// rows quantised to eight bits.
//
// A quantised row holds each component as an unsigned byte, 128 above its
// signed value in [-127, 127], beside one scale for the whole row. The other
// side, a Query, is signed. That is the pair of signs which the AVX-512 VNNI
// instruction VPDPBUSD multiplies, and it moves the correction for the offset
// (128 times the sum of the query's codes) out of the rows: it is one constant
// a query.
//
// On amd64 the kernels are assembly, chosen by what the processor has:
// AVX-512 VNNI, AVX2, or plain Go. Every kernel computes the same integers, so
// Similarities are the same bits everywhere; Dot adds in an order of its own
// on each, so it may differ in the last bits between machines.
package vector

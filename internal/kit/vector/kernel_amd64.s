#include "textflag.h"

// Arguments of both scans, loaded alike: DI dst, SI rows, DX scales, BX query,
// CX stride in bytes, R8 rows left, X14 bias, X15 scale, R9 raise.
// R10, R11, R12 are the second to fourth row of a quad, AX is where in them.
#define SCANARGS \
	MOVQ         dst+0(FP), DI     \
	MOVQ         rows+8(FP), SI    \
	MOVQ         scales+16(FP), DX \
	MOVQ         query+24(FP), BX  \
	MOVQ         stride+32(FP), CX \
	MOVQ         n+40(FP), R8      \
	VPBROADCASTD bias+48(FP), X14  \
	VBROADCASTSS scale+52(FP), X15 \
	MOVBLZX      raise+56(FP), R9

// BEGIN finds the rows of a quad.
#define BEGIN \
	LEAQ (SI)(CX*1), R10  \
	LEAQ (SI)(CX*2), R11  \
	LEAQ (R10)(CX*2), R12 \
	XORQ AX, AX

// FINISH turns the sums of a quad, eight partial ones in each of Y0 to Y3, into
// similarities in X0: one 32-bit sum a row, less the bias, times the
// row's scale, times the query's.
#define FINISH(store) \
	VPHADDD      Y1, Y0, Y0    \
	VPHADDD      Y3, Y2, Y2    \
	VPHADDD      Y2, Y0, Y0    \
	VEXTRACTI128 $1, Y0, X1    \
	VPADDD       X1, X0, X0    \
	VPSUBD       X14, X0, X0   \
	VCVTDQ2PS    X0, X0        \
	VMULPS       (DX), X0, X0  \
	VMULPS       X15, X0, X0   \
	TESTL        R9, R9        \
	JZ           store         \
	VMAXPS       (DI), X0, X0

// STORE stores a quad's similarities and goes on to the next, or returns.
#define STORE(quad) \
	VMOVUPS X0, (DI)         \
	LEAQ    (R12)(CX*1), SI  \
	ADDQ    $16, DI          \
	ADDQ    $16, DX          \
	SUBQ    $4, R8           \
	JNZ     quad             \
	VZEROUPPER               \
	RET

// The scan is bound by memory, and four rows side by side are more than the
// hardware prefetcher follows well: a prefetch by hand gains a third. It may
// reach behind the last row, which is harmless.
//
// func scanVNNI(dst *float32, rows *byte, scales *float32, query *int8, stride, n int, bias int32, scale float32, raise bool)
TEXT ·scanVNNI(SB), NOSPLIT, $0-57
	SCANARGS

quad:
	BEGIN
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3

chunk:
	VMOVDQU8  (BX)(AX*1), Z4
	VMOVDQU8  (SI)(AX*1), Z5
	VMOVDQU8  (R10)(AX*1), Z6
	VMOVDQU8  (R11)(AX*1), Z7
	VMOVDQU8  (R12)(AX*1), Z8
	PREFETCHT0 4096(SI)(AX*1)
	PREFETCHT0 4096(R10)(AX*1)
	PREFETCHT0 4096(R11)(AX*1)
	PREFETCHT0 4096(R12)(AX*1)
	VPDPBUSD  Z4, Z5, Z0
	VPDPBUSD  Z4, Z6, Z1
	VPDPBUSD  Z4, Z7, Z2
	VPDPBUSD  Z4, Z8, Z3
	ADDQ      $64, AX
	CMPQ      AX, CX
	JLT       chunk

	VEXTRACTI64X4 $1, Z0, Y4
	VEXTRACTI64X4 $1, Z1, Y5
	VEXTRACTI64X4 $1, Z2, Y6
	VEXTRACTI64X4 $1, Z3, Y7
	VPADDD        Y4, Y0, Y0
	VPADDD        Y5, Y1, Y1
	VPADDD        Y6, Y2, Y2
	VPADDD        Y7, Y3, Y3
	FINISH(store)

store:
	STORE(quad)

// func scanAVX2(dst *float32, rows *byte, scales *float32, query *int16, stride, n int, bias int32, scale float32, raise bool)
TEXT ·scanAVX2(SB), NOSPLIT, $0-57
	SCANARGS

quad:
	BEGIN
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

chunk:
	VMOVDQU   (BX)(AX*2), Y4
	VPMOVZXBW (SI)(AX*1), Y5
	VPMOVZXBW (R10)(AX*1), Y6
	VPMOVZXBW (R11)(AX*1), Y7
	VPMOVZXBW (R12)(AX*1), Y8
	VPMADDWD  Y4, Y5, Y5
	VPMADDWD  Y4, Y6, Y6
	VPMADDWD  Y4, Y7, Y7
	VPMADDWD  Y4, Y8, Y8
	VPADDD    Y5, Y0, Y0
	VPADDD    Y6, Y1, Y1
	VPADDD    Y7, Y2, Y2
	VPADDD    Y8, Y3, Y3
	ADDQ      $16, AX
	CMPQ      AX, CX
	JLT       chunk
	FINISH(store)

store:
	STORE(quad)

// func dotFMA(a, b *float32, n int) float32
TEXT ·dotFMA(SB), NOSPLIT, $0-28
	MOVQ   a+0(FP), SI
	MOVQ   b+8(FP), DI
	MOVQ   n+16(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

step:
	VMOVUPS     (SI), Y4
	VMOVUPS     32(SI), Y5
	VMOVUPS     64(SI), Y6
	VMOVUPS     96(SI), Y7
	VFMADD231PS (DI), Y4, Y0
	VFMADD231PS 32(DI), Y5, Y1
	VFMADD231PS 64(DI), Y6, Y2
	VFMADD231PS 96(DI), Y7, Y3
	ADDQ        $128, SI
	ADDQ        $128, DI
	SUBQ        $32, CX
	JNZ         step

	VADDPS       Y1, Y0, Y0
	VADDPS       Y3, Y2, Y2
	VADDPS       Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VHADDPS      X0, X0, X0
	VHADDPS      X0, X0, X0
	VMOVSS       X0, ret+24(FP)
	VZEROUPPER
	RET

DATA absolute<>+0(SB)/4, $0x7fffffff
GLOBL absolute<>(SB), RODATA|NOPTR, $4

DATA signs<>+0(SB)/4, $0x80808080
GLOBL signs<>(SB), RODATA|NOPTR, $4

// order puts back in order what two rounds of packing leave lane by lane.
DATA order<>+0(SB)/4, $0
DATA order<>+4(SB)/4, $4
DATA order<>+8(SB)/4, $1
DATA order<>+12(SB)/4, $5
DATA order<>+16(SB)/4, $2
DATA order<>+20(SB)/4, $6
DATA order<>+24(SB)/4, $3
DATA order<>+28(SB)/4, $7
GLOBL order<>(SB), RODATA|NOPTR, $32

// func largestAVX2(v *float32, n int) float32
TEXT ·largestAVX2(SB), NOSPLIT, $0-20
	MOVQ         v+0(FP), SI
	MOVQ         n+8(FP), CX
	VBROADCASTSS absolute<>(SB), Y15
	VXORPS       Y0, Y0, Y0
	VXORPS       Y1, Y1, Y1
	VXORPS       Y2, Y2, Y2
	VXORPS       Y3, Y3, Y3

step:
	VANDPS (SI), Y15, Y4
	VANDPS 32(SI), Y15, Y5
	VANDPS 64(SI), Y15, Y6
	VANDPS 96(SI), Y15, Y7
	VMAXPS Y4, Y0, Y0
	VMAXPS Y5, Y1, Y1
	VMAXPS Y6, Y2, Y2
	VMAXPS Y7, Y3, Y3
	ADDQ   $128, SI
	SUBQ   $32, CX
	JNZ    step

	VMAXPS       Y1, Y0, Y0
	VMAXPS       Y3, Y2, Y2
	VMAXPS       Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VSHUFPS      $0x4E, X0, X0, X1
	VMAXPS       X1, X0, X0
	VSHUFPS      $0xB1, X0, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSS       X0, ret+16(FP)
	VZEROUPPER
	RET

// func encodeAVX2(row *byte, v *float32, n int, inverse float32)
TEXT ·encodeAVX2(SB), NOSPLIT, $0-28
	MOVQ         row+0(FP), DI
	MOVQ         v+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS inverse+24(FP), Y15
	VPBROADCASTD signs<>(SB), Y14
	VMOVDQU      order<>(SB), Y13

step:
	VMULPS    (SI), Y15, Y0
	VMULPS    32(SI), Y15, Y1
	VMULPS    64(SI), Y15, Y2
	VMULPS    96(SI), Y15, Y3
	VCVTPS2DQ Y0, Y0
	VCVTPS2DQ Y1, Y1
	VCVTPS2DQ Y2, Y2
	VCVTPS2DQ Y3, Y3
	VPACKSSDW Y1, Y0, Y0
	VPACKSSDW Y3, Y2, Y2
	VPACKSSWB Y2, Y0, Y0
	VPERMD    Y0, Y13, Y0
	VPXOR     Y14, Y0, Y0
	VMOVDQU   Y0, (DI)
	ADDQ      $128, SI
	ADDQ      $32, DI
	SUBQ      $32, CX
	JNZ       step
	VZEROUPPER
	RET

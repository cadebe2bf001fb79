package program_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/tensorcore"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// onDevice runs kernel k(in, out) of text in so many blocks of one warp, and gives the n bytes that it writes.
func onDevice(t *testing.T, text string, warps int, in []byte, n int) []byte {
	t.Helper()
	ctx := context.Background()
	c := gputest.Context(t)
	m, err := c.LoadModule([]byte(text))
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	s, err := c.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	mem, err := c.Malloc(ctx, int64(len(in)+n))
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close()) }()
	require.NoError(t, c.CopyToDevice(ctx, mem.Ptr(), in))
	k, err := m.Kernel("k")
	require.NoError(t, err)
	if _, known := k.Params(); !known {
		require.NoError(t, k.Declare([]int{8, 8}))
	}
	out := mem.Ptr() + cudadrv.DevicePtr(len(in))
	l, err := k.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{uint32(warps)}, Block: [3]uint32{32}}, mem.Ptr(), out)
	require.NoError(t, err)
	require.NoError(t, l.Run(s))
	require.NoError(t, s.Synchronize(ctx))
	got := make([]byte, n)
	require.NoError(t, c.CopyToHost(ctx, got, out))
	return got
}

// matrixKernel is an entry k in which each warp has its place of inBytes a lane in %in and outBytes a lane in %out, and %lane.
func matrixKernel(inBytes, outBytes int, body string) string {
	return fmt.Sprintf(`.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
	.reg .b32 %%lane, %%t, %%s, %%a<4>, %%b<2>; .reg .f32 %%c<4>; .reg .b64 %%in, %%out, %%at;
	.shared .align 16 .b8 tile[2048];
	ld.param.u64 %%in, [pin]; ld.param.u64 %%out, [pout]; cvta.to.global.u64 %%in, %%in; cvta.to.global.u64 %%out, %%out;
	mov.u32 %%lane, %%tid.x; mov.u32 %%t, %%ctaid.x; mad.lo.u32 %%t, %%t, 32, %%lane;
	mul.wide.u32 %%at, %%t, %d; add.u64 %%in, %%in, %%at; mul.wide.u32 %%at, %%t, %d; add.u64 %%out, %%out, %%at;
%s
	ret;
}
`, inBytes, outBytes, body)
}

// list is n registers in braces.
func list(prefix string, n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// each is a line of text for each i below n, made of i, first + step i, and 128 i.
func each(n int, format string, first, step int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"%[4]s", i, first+step*i, 128*i, "\n")
	}
	return b.String()
}

// product is an mma.sync of 16 x 8 sums of deep products.
type product struct {
	format tensorcore.Format
	deep   int
}

func (p product) String() string {
	t := []string{"bf16", "f16"}[p.format]
	return fmt.Sprintf("mma.sync.aligned.m16n8k%d.row.col.f32.%s.%s.f32", p.deep, t, t)
}

// One instruction's operands: A[16][deep], B[8][deep] and C[16][8].
type factors struct {
	a, b []uint16
	c    []uint32
}

// draw gives operands of the n-th of the spreads of exponents, and sets zeros, subnormal numbers, infinities and not-a-numbers among some.
func (p product) draw(rng *rand.Rand, n int) factors {
	width, most, bias := 7, 255, 127
	if p.format == tensorcore.Float16 {
		width, most, bias = 10, 31, 15
	}
	spread, special := []int{0, 1, 3, 6, 12, 20, 40}[n%7], n/7%8
	if special == 5 {
		bias = rng.IntN(most) // far from one, so that sums leave the range
	}
	exponent := func(spread, bias, most int) int { return min(max(bias-spread+rng.IntN(2*spread+1), 1), most-1) }
	half := func() uint16 {
		sign, sig, exp := rng.IntN(2), rng.IntN(1<<width), exponent(spread, bias, most)
		switch {
		case special == 1 && rng.IntN(3) == 0:
			exp, sig = 0, 0
		case special == 2 && rng.IntN(3) == 0:
			exp = 0
		case special == 3 && rng.IntN(32) == 0:
			exp, sig = most, 0
		case special == 4 && rng.IntN(64) == 0:
			exp = most
		case special == 6:
			return uint16(rng.Uint32())
		case special == 7: // large factors, most of them times zero, beside small sums
			exp = rng.IntN(most)
			if rng.IntN(4) > 0 {
				exp, sig = 0, 0
			}
		}
		return uint16(sign<<15 | exp<<width | sig)
	}
	f := factors{make([]uint16, 16*p.deep), make([]uint16, 8*p.deep), make([]uint32, 128)}
	for i := range f.a {
		f.a[i] = half()
	}
	for i := range f.b {
		f.b[i] = half()
	}
	for i := range f.c {
		sign, sig, exp := rng.IntN(2), rng.IntN(1<<23), exponent(2*spread, 127+2*(bias-most/2), 255)
		switch {
		case special == 1 && rng.IntN(2) == 0:
			exp, sig = 0, 0
		case special == 2 && rng.IntN(2) == 0:
			exp = 0
		case special == 3 && rng.IntN(16) == 0:
			exp, sig = 255, 0
		case special == 6:
			exp = rng.IntN(256)
		case special == 7:
			exp = rng.IntN(255)
		}
		f.c[i] = uint32(sign<<31 | exp<<23 | sig)
	}
	return f
}

// put writes the registers of all lanes, as the kernel reads them: those of A, B and C.
func (p product) put(buf []byte, f factors) []byte {
	pair := func(m []uint16, row, k int) uint32 { return uint32(m[row*p.deep+k]) | uint32(m[row*p.deep+k+1])<<16 }
	for lane := range 32 {
		g, q := lane/4, lane%4*2
		for k := q; k < p.deep; k += 8 {
			buf = binary.LittleEndian.AppendUint32(buf, pair(f.a, g, k))
			buf = binary.LittleEndian.AppendUint32(buf, pair(f.a, g+8, k))
		}
		for k := q; k < p.deep; k += 8 {
			buf = binary.LittleEndian.AppendUint32(buf, pair(f.b, g, k))
		}
		for _, at := range []int{8*g + q, 8*g + q + 1, 8*(g+8) + q, 8*(g+8) + q + 1} {
			buf = binary.LittleEndian.AppendUint32(buf, f.c[at])
		}
	}
	return buf
}

func TestTensorCoresSumAsTheirRuleSays(t *testing.T) {
	const batch = 2500
	batches := thorough.Of(2, 10) // of each of four instructions: 100,000
	if testing.Short() {
		batches = 1
	}
	gputest.Both(t, func(t *testing.T) {
		for _, p := range []product{{tensorcore.BFloat16, 16}, {tensorcore.BFloat16, 8}, {tensorcore.Float16, 16}, {tensorcore.Float16, 8}} {
			nA, nB := p.deep/4, p.deep/8
			text := matrixKernel(4*(nA+nB+4), 16, each(nA, "ld.global.b32 %%a%[1]d, [%%in+%[2]d];", 0, 4)+each(nB, "ld.global.b32 %%b%[1]d, [%%in+%[2]d];", 4*nA, 4)+
				each(4, "ld.global.f32 %%c%[1]d, [%%in+%[2]d];", 4*(nA+nB), 4)+
				fmt.Sprintf("%v %s, %s, %s, %s;\nst.global.v4.f32 [%%out], %s;", p, list("%c", 4), list("%a", nA), list("%b", nB), list("%c", 4), list("%c", 4)))
			rng := rand.New(rand.NewPCG(7, uint64(p.deep)))
			wrong, signs := 0, 0
			for n := range batches {
				var in []byte
				drawn := make([]factors, batch)
				for i := range drawn {
					drawn[i] = p.draw(rng, n*batch+i)
					in = p.put(in, drawn[i])
				}
				out := onDevice(t, text, batch, in, 512*batch)
				for i, f := range drawn {
					for j := range 128 {
						row, col := j/8, j%8
						lane, reg := row%8*4+col/2, row/8*2+col%2
						got := binary.LittleEndian.Uint32(out[512*i+16*lane+4*reg:])
						a, b := f.a[row*p.deep:(row+1)*p.deep], f.b[col*p.deep:(col+1)*p.deep]
						want := p.sum(f.c[j], a, b)
						if got == want {
							continue
						}
						if got&^(1<<31) == 0 && want&^(1<<31) == 0 {
							signs++
						}
						if wrong++; wrong <= 8 {
							t.Errorf("%v, instruction %d, element %d: %#x + %#x * %#x: got %#x, want %#x", p, n*batch+i, j, f.c[j], a, b, got, want)
						}
					}
				}
			}
			if wrong > 0 {
				t.Errorf("%v: %d of %d sums wrong, of which %d are zeros of the wrong sign", p, wrong, 128*batch*batches, signs)
			}
		}
	})
}

// sum is what one element should be.
func (p product) sum(c uint32, a, b []uint16) uint32 {
	var da, db [16]tensorcore.Decoded
	tensorcore.Decode(p.format, da[:], a)
	tensorcore.Decode(p.format, db[:], b)
	return math.Float32bits(tensorcore.Hopper.Dot(math.Float32frombits(c), da[:p.deep], db[:p.deep]))
}

// A tile has 64 rows of 16 bytes; each lane names one of them, all different. What ldmatrix reads and stmatrix leaves is as PTX says.
func TestMatricesMoveBetweenSharedMemoryAndRegisters(t *testing.T) {
	gputest.Both(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(8, 9))
		for _, n := range []int{1, 2, 4} {
			for _, trans := range []string{"", ".trans"} {
				// A lane's input: 8 words of the tile, the offset of its row, 4 words to store. Its output: n words read, 8 words of the tile, the first of
				// the stored words transposed.
				move := fmt.Sprintf("matrix.sync.aligned.m8n8.x%d%s.shared.b16 ", n, trans)
				text := matrixKernel(52, 52, "mov.u32 %s, tile; mad.lo.u32 %s, %lane, 4, %s;\n"+
					each(8, "ld.global.b32 %%t, [%%in+%[2]d]; st.shared.b32 [%%s+%[3]d], %%t;", 0, 4)+
					"bar.sync 0; mov.u32 %s, tile; ld.global.b32 %t, [%in+32]; add.u32 %s, %s, %t;\n"+
					"ld"+move+list("%a", n)+", [%s];\n"+each(n, "st.global.b32 [%%out+%[2]d], %%a%[1]d;", 0, 4)+
					each(n, "ld.global.b32 %%a%[1]d, [%%in+%[2]d];", 36, 4)+
					"movmatrix.sync.aligned.m8n8.trans.b16 %t, %a0; st.global.b32 [%out+48], %t;\n"+
					"bar.sync 0;\nst"+move+"[%s], "+list("%a", n)+";\nbar.sync 0; mov.u32 %s, tile; mad.lo.u32 %s, %lane, 4, %s;\n"+
					each(8, "ld.shared.b32 %%t, [%%s+%[3]d]; st.global.b32 [%%out+%[2]d], %%t;", 16, 4))
				var in []byte
				tile := make([]uint16, 512)
				var rows [32]int
				var kept [32][4]uint32
				order := rng.Perm(64)
				for lane := range 32 {
					for i := range 8 {
						v := rng.Uint32()
						at := 64*i + 2*lane
						tile[at], tile[at+1] = uint16(v), uint16(v>>16)
						in = binary.LittleEndian.AppendUint32(in, v)
					}
					rows[lane] = order[lane]
					in = binary.LittleEndian.AppendUint32(in, uint32(16*rows[lane]))
					for i := range 4 {
						kept[lane][i] = rng.Uint32()
						in = binary.LittleEndian.AppendUint32(in, kept[lane][i])
					}
				}
				out := onDevice(t, text, 1, in, 52*32)
				// element is where the tile has an element of a matrix; of a transposed one, row and column are the registers'.
				element := func(m, row, col int) *uint16 {
					if trans != "" {
						row, col = col, row
					}
					return &tile[8*rows[8*m+row]+col]
				}
				for lane := range 32 {
					for m := range n {
						want := uint32(*element(m, lane/4, lane%4*2)) | uint32(*element(m, lane/4, lane%4*2+1))<<16
						require.Equal(t, want, binary.LittleEndian.Uint32(out[52*lane+4*m:]), "ld%s lane %d, register %d", move, lane, m)
					}
				}
				for lane := range 32 {
					half := func(col int) uint32 { return kept[4*col+lane/8][0] >> (lane / 4 % 2 * 16) & 0xffff }
					require.Equal(t, half(lane%4*2)|half(lane%4*2+1)<<16, binary.LittleEndian.Uint32(out[52*lane+48:]), "movmatrix lane %d", lane)
					for m := range n {
						*element(m, lane/4, lane%4*2), *element(m, lane/4, lane%4*2+1) = uint16(kept[lane][m]), uint16(kept[lane][m]>>16)
					}
				}
				for lane := range 32 {
					for i := range 8 {
						want := uint32(tile[64*i+2*lane]) | uint32(tile[64*i+2*lane+1])<<16
						require.Equal(t, want, binary.LittleEndian.Uint32(out[52*lane+16+4*i:]), "st%s lane %d, word %d", move, lane, i)
					}
				}
			}
		}
	})
}

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// How many bytes of a row are moved and stored at once is what all its places are multiples of; unaligned rows have a form by their width.
func TestUnitsOfRows(t *testing.T) {
	for _, c := range []struct {
		dtype             tensor.DType
		d, step, beside   int // features; elements from a sample to the next; features of dst before
		unit, store, form uint32
	}{
		{tensor.BF16, 8, 8, 0, 4, 4, ptx.UnalignedUnits}, {tensor.F32, 4, 4, 0, 4, 4, ptx.UnalignedUnits}, {tensor.F32, 4, 4, 4, 4, 4, ptx.UnalignedUnits},
		{tensor.BF16, 8, 8, 4, 4, 3, ptx.UnalignedUnits}, {tensor.F32, 8, 8, 1, 4, 2, ptx.UnalignedUnits}, {tensor.BF16, 8, 8, 1, 4, 1, ptx.UnalignedShort},
		{tensor.BF16, 44, 44, 0, 3, 3, ptx.UnalignedUnits}, {tensor.BF16, 26, 26, 0, 2, 2, ptx.UnalignedUnits}, {tensor.BF16, 14, 16, 0, 2, 2, ptx.UnalignedUnits},
		{tensor.F32, 7, 7, 0, 2, 2, ptx.UnalignedUnits}, {tensor.F32, 4, 5, 0, 2, 2, ptx.UnalignedUnits}, {tensor.F32, 6, 6, 0, 3, 3, ptx.UnalignedUnits},
		{tensor.BF16, 3, 3, 0, 1, 1, ptx.UnalignedShort}, {tensor.BF16, 8, 9, 0, 1, 1, ptx.UnalignedShort}, {tensor.F16, 14, 15, 0, 1, 1, ptx.UnalignedNarrow},
		{tensor.F16, 31, 31, 0, 1, 1, ptx.UnalignedNarrow}, {tensor.BF16, 113, 113, 0, 1, 1, ptx.UnalignedWide},
	} {
		s := rowsOf(c.dtype, c.step, ops.ResampleOptions{})
		s.Src = tensor.Must(s.Src.Slice(2, 0, c.d))
		streams := []ops.FuseStream{s}
		if c.beside > 0 {
			streams = append([]ops.FuseStream{rowsOf(c.dtype, c.beside, ops.ResampleOptions{})}, s)
		}
		l := layoutsOf(fuse(c.dtype, 5, ops.FuseOptions{}, streams...))[len(streams)-1]
		form, unit := unalignedForm(c.d, l)
		assert.Equal(t, []uint32{c.unit, c.store, c.form}, []uint32{uint32(l.unit), uint32(l.store), form}, "%+v", c)
		assert.Equal(t, c.d*c.dtype.Size()>>c.unit, l.units, "%+v", c)
		assert.Equal(t, c.form == ptx.UnalignedUnits, unit > 1, "%+v", c)
	}
	far := func(step int) *backend.FuseJob { // the third row of samples begins so many elements on, of units of 16 bytes
		s := rowsOf(tensor.F32, 8, ops.ResampleOptions{})
		s.Src = tensor.Must(place(tensor.F32, 1<<40).AsStrided([]int{3, 10, 8}, []int{step, 8, 1}, 0))
		return fuse(tensor.F32, 5, ops.FuseOptions{}, s)
	}
	assert.Empty(t, fuseFast.supports(h100(), far(1<<32)))
	assert.Contains(t, fuseFast.supports(h100(), far(1<<34)), "units", "32 bits do not number them")
	assert.Contains(t, fuseUnaligned.supports(h100(), far(1<<34)), "32 bits")
}

// A stream beside a wider one has smaller blocks if it would have few of them.
func TestNarrowStreamsHaveEnoughBlocks(t *testing.T) {
	b := h100()
	narrow, wide := rowsOf(tensor.F32, 4*8, ops.ResampleOptions{}), rowsOf(tensor.F32, 4*64, ops.ResampleOptions{})
	policy := tuned.Policy{ItemsPerThread: 4, Check: 512}
	for n, want := range map[int]int{44 * 8: 4, 44*16 - 1: 4, 44 * 16: 2, 44*32 - 1: 2, 44 * 32: 1, 1 << 20: 1} { // targets of each of the 3 rows; times which its blocks are smaller
		by := func(streams ...ops.FuseStream) []shape {
			return fuseFast.configure(b, fuse(tensor.F32, n, ops.FuseOptions{}, streams...), policy)
		}
		beside := by(narrow, wide)
		assert.Equal(t, by(narrow)[0].tile, want*beside[0].tile, "%d targets", n)
		assert.Equal(t, by(wide)[0].tile, beside[1].tile, "the widest, %d targets", n)
	}
	small, large := fuse(tensor.F32, 50, ops.FuseOptions{}, narrow), fuse(tensor.F32, 1<<20, ops.FuseOptions{}, narrow)
	assert.Equal(t, tuned.Policy{ItemsPerThread: 2, Check: checkPerBlock / 4, Prefetch: true}, fuseFast.heuristic(b, small))
	assert.Equal(t, tuned.Policy{ItemsPerThread: pieces, Check: checkPerBlock / 2, Prefetch: true}, fuseFast.heuristic(b, large))
}

// Which launches prefetch: of blocks with some targets, of sources without gaps, most of whose rows are needed. In a fusion each stream does or does
// not.
func TestWhatIsPrefetched(t *testing.T) {
	b := h100()
	strided := func(batch, step int) func(*ops.ResampleArgs) {
		return func(a *ops.ResampleArgs) {
			shape := a.Src.Shape()
			a.Src = tensor.Must(place(tensor.F32, 1<<20).AsStrided(shape, []int{batch, step, 1}, 0))
		}
	}
	for _, c := range []struct {
		what        string
		b, s, n, d  int
		opts        ops.ResampleOptions
		source      func(*ops.ResampleArgs)
		want, fused bool
	}{
		{"more targets than samples", 2, 1001, 2000, 4, ops.ResampleOptions{}, nil, true, true},
		{"one sample", 2, 1, 2000, 4, ops.ResampleOptions{}, nil, false, false},
		{"one target", 2, 1001, 1, 4, ops.ResampleOptions{}, nil, false, false},
		{"gaps between samples", 2, 1001, 2000, 4, ops.ResampleOptions{}, strided(1001*8, 8), false, false},
		{"gaps between rows", 2, 1001, 2000, 4, ops.ResampleOptions{}, strided(1002*4, 4), false, false},
		{"of which there is one", 1, 1001, 2000, 4, ops.ResampleOptions{}, strided(1002*4, 4), true, true},
		{"another kind", 2, 1001, 2000, 4, nearest, nil, true, true},
		{"inputs ready", 2, 1001, 2000, 4, early, nil, true, true},
		{"four targets a block", 2, 1001, 2000, 4 * 128, ops.ResampleOptions{}, nil, true, true},
		{"three", 2, 1001, 2000, 4 * 129, ops.ResampleOptions{}, nil, false, false},
		{"seven of five", 2, 1001, 716, 4, ops.ResampleOptions{}, nil, true, true},
		{"and fewer", 2, 1001, 714, 4, ops.ResampleOptions{}, nil, false, true},
		{"every fourth, 16 bytes each", 2, 1001, 252, 4, ops.ResampleOptions{}, nil, false, true},
		{"and fewer, which skips a sector", 2, 1001, 250, 4, ops.ResampleOptions{}, nil, false, false},
	} {
		var changes []func(*ops.ResampleArgs)
		if c.source != nil {
			changes = append(changes, c.source)
		}
		j := resample(tensor.F32, c.b, c.s, c.n, c.d, c.opts, changes...)
		for v, want := range map[*variant]bool{resampleFast: c.want, fuseFast: c.fused, fuseFastFew: c.fused} {
			policy := tuned.Policy{ItemsPerThread: pieces, Check: checkPerBlock, Prefetch: true}
			assert.Equal(t, want, prefetches(v.configure(b, j, policy)), "%s: %s", v.name, c.what)
			policy.Prefetch = false
			assert.False(t, prefetches(v.configure(b, j, policy)), "%s: %s", v.name, c.what)
		}
	}
	for _, v := range append(resampleVariants, fuseVariants...) {
		wants := v == resampleFast || v == fuseFast || v == fuseFastFew || v == resampleUnaligned
		assert.Equal(t, wants, v.tunable.Prefetch, v.name)
		assert.Equal(t, wants, v.heuristic(b, resample(tensor.BF16, 2, 100, 50, 16, ops.ResampleOptions{})).Prefetch, v.name)
	}
}

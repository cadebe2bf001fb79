package opstest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
)

// TestGradientsHoldWhatTheyAreThereFor checks that the random gradient cases cover the properties that they are meant for.
func TestGradientsHoldWhatTheyAreThereFor(t *testing.T) {
	seen := map[string]int{}
	for number := range 96 {
		b := drawBackward(number)[0].operation.(*backward)
		note := func(format string, args ...any) { seen[fmt.Sprintf(format, args...)]++ }
		note("alone %v", b.Alone)
		note("wrong %v", b.Wrong)
		note("clock %v, tensor %v, packed %v", b.clock(), b.Targets != nil, b.DstOffsets != nil)
		if b.Wrong {
			continue
		}
		if e := b.fault(); e != nil {
			note("fault %v", e.Kind)
			continue
		}
		for m, p := range b.Streams {
			if p.Src == nil {
				note("missing")
				continue
			}
			note("%v from %v", p.Src.dtype, b.Out)
			note("kind %v, edge %v", p.Opts.Interp, p.Opts.Edge)
			note("table %v", len(p.Opts.Channels) > 0)
			note("scale %v", p.Scale != nil)
			note("offset %v", p.Offset != 0)
			note("lengths %v, offsets %v", p.SrcLengths != nil, p.SrcOffsets != nil)
			_, snaps := p.Opts.Snap.Get()
			note("snap %v, gaps filled %v", snaps, p.Opts.FillGaps)
			for _, bits := range b.wanted(m) {
				note("zero %v", bits == 0)
			}
		}
	}
	want := []string{"missing", "alone true", "alone false", "wrong true", "table true", "scale true", "scale false", "offset true", "lengths true, offsets false", "lengths false, offsets true",
		fmt.Sprint("fault ", ops.ErrUnsorted), fmt.Sprint("fault ", ops.ErrRows), "snap true, gaps filled true", "snap false, gaps filled false", "snap true, gaps filled false", "zero true", "zero false"}
	for _, in := range valueDTypes {
		for _, out := range valueDTypes {
			want = append(want, fmt.Sprintf("%v from %v", in, out))
		}
	}
	for kind := ops.InterpLinear; kind <= ops.InterpNearest; kind++ {
		for _, edge := range []ops.Edge{ops.EdgeClamp, ops.EdgeFill, ops.EdgeExtrapolate, ops.EdgeHold} {
			want = append(want, fmt.Sprintf("kind %v, edge %v", kind, edge))
		}
	}
	for _, clock := range clockDTypes {
		for _, form := range []string{"tensor true, packed false", "tensor true, packed true", "tensor false, packed false"} {
			want = append(want, fmt.Sprintf("clock %v, %s", clock, form))
		}
	}
	for _, w := range want {
		assert.NotZero(t, seen[w], "the sample has none of: %s", w)
	}
	assert.Greater(t, seen["zero false"], seen["zero true"]/20, "too many samples have no targets")
}

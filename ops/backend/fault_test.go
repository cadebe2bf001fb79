package backend

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

func TestFaultsOrderByClassThenPlaceThenReason(t *testing.T) {
	want := []Fault{
		MakeFault(FaultRows, 0, FaultSrcRows), MakeFault(FaultRows, 0, FaultNoSamples), MakeFault(FaultRows, 1<<40, FaultSrcRows),
		MakeFault(FaultTimes, 0, FaultUnsorted), MakeFault(FaultTimes, 7, FaultUnsorted), MakeFault(FaultTimes, 7, FaultNotFinite),
		MakeFault(FaultTargets, 0, FaultTimeRange), MakeFault(FaultTargets, 1<<58-1, FaultOutOfRange), NoFault,
	}
	assert.True(t, slices.IsSorted(want), "%x", want)
}

func TestFaultsUnpackToRowAndIndex(t *testing.T) {
	lengths := tensor.Must(tensor.New(tensor.I64, 3))
	j := &ResampleJob{B: 1<<31 + 1, S: 10, T: 4}
	packed := tensor.Must(tensor.Of([]int64{0, 2, 2, 7}, 4))
	read := tensor.Elements[int64]
	for _, c := range []struct {
		class, reason Fault
		at            int
		src, dst      *tensor.Tensor
		arg           string
		row, index    int
		kind          error
	}{
		{FaultRows, FaultSrcRows, 2, nil, nil, "SrcOffsets", 2, 0, ErrRows},
		{FaultRows, FaultDstRows, 1, nil, nil, "DstOffsets", 1, 0, ErrRows},
		{FaultRows, FaultNoSamples, 0, nil, nil, "SrcOffsets", 0, 0, ErrNoSamples},
		{FaultTimes, FaultUnsorted, 29, nil, nil, "SrcTimes", 2, 9, ErrUnsorted},
		{FaultTimes, FaultNotFinite, 0, nil, nil, "SrcTimes", 0, 0, ErrNotFinite},
		{FaultTimes, FaultTimeRange, 2, packed, nil, "SrcTimes", 2, 0, ErrTimeRange},
		{FaultTimes, FaultUnsorted, 6, packed, nil, "SrcTimes", 2, 4, ErrUnsorted},
		{FaultTargets, FaultOutOfRange, 5, nil, nil, "Targets", 1, 1, ErrOutOfRange},
		{FaultTargets, FaultTimeRange, 1, nil, packed, "Targets", 0, 1, ErrTimeRange},
		{FaultTargets, FaultOutOfRange, 1<<33 + 3, nil, nil, "Targets", 1 << 31, 3, ErrOutOfRange},
	} {
		j.SrcOffsets, j.DstOffsets = c.src, c.dst
		err := j.FaultError(MakeFault(c.class, c.at, c.reason), read)
		var e *ValueError
		require.True(t, errors.As(err, &e))
		assert.Equal(t, ValueError{Op: "Resample", Arg: c.arg, Row: c.row, Index: c.index, Kind: c.kind}, *e)
		assert.ErrorIs(t, err, c.kind)
	}
	assert.NoError(t, j.FaultError(NoFault, read))
	j.SrcLengths, j.DstLengths = lengths, lengths
	assert.ErrorContains(t, j.FaultError(MakeFault(FaultRows, 1, FaultSrcRows), read), "SrcLengths")
	assert.ErrorContains(t, j.FaultError(MakeFault(FaultRows, 1, FaultDstRows), read), "DstLengths")
}

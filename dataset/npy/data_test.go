package npy

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

func TestAnArrayOfAnotherFormatIsReadFromItsFirstByte(t *testing.T) {
	h, err := HeaderOf("<i8", 100, 2, 1)
	require.NoError(t, err)
	assert.Equal(t, "int64 [2,1]", h.String())
	assert.True(t, h.IsClock())
	var data bytes.Buffer
	strided := tensor.Must(tensor.Must(tensor.Of([]int64{5, 0, -1, 0}, 2, 2)).Slice(1, 0, 1))
	require.NoError(t, WriteData(&data, strided))
	assert.Equal(t, "\x05\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", data.String())
	v, err := ReadData(bytes.NewReader(data.Bytes()), &h)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1}, v.Shape())
	table, err := ReadTableData(bytes.NewReader(data.Bytes()), &h, TableOptions{})
	require.NoError(t, err)
	assert.Equal(t, []dataset.Column{{Name: "0", Type: "int64", Integer: true}}, table.Columns)
	times, err := ReadTimesData(bytes.NewReader(data.Bytes()), &h)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1}, times.Shape())
	_, err = ReadData(bytes.NewReader(data.Bytes()[:9]), &h)
	var bad *dataset.FormatError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, int64(109), bad.Offset, "of the file that the array lies in")
	for _, c := range []struct {
		descr string
		shape []int
		kind  error
	}{{"<f16x", nil, dataset.ErrUnsupported}, {"<f4", []int{1 << 61}, dataset.ErrTooLarge}, {"<f4", make([]int, 65), dataset.ErrUnsupported}} {
		_, err := HeaderOf(c.descr, 0, c.shape...)
		assert.ErrorIs(t, err, c.kind)
	}
}

func TestBF16OfAnotherFormatIsBF16(t *testing.T) {
	h, err := HeaderOf(BF16, 0, 2)
	require.NoError(t, err)
	assert.Equal(t, "bfloat16 [2]", h.String())
	d, ok := h.DType()
	assert.Equal(t, []any{tensor.BF16, true}, []any{d, ok})
	assert.False(t, h.IsClock())
	var data bytes.Buffer
	require.NoError(t, WriteData(&data, tensor.Must(tensor.Of([]tensor.BFloat16{0x3f80, 0x4000}, 2))))
	v, err := ReadData(bytes.NewReader(data.Bytes()), &h)
	require.NoError(t, err)
	assert.Equal(t, tensor.BF16, v.DType())
	table, err := ReadTableData(bytes.NewReader(data.Bytes()), &h, TableOptions{})
	require.NoError(t, err)
	assert.Equal(t, []dataset.Column{{Name: "0", Type: "bf16"}}, table.Columns)
	assert.Equal(t, tensor.BF16, table.Values.DType())
}

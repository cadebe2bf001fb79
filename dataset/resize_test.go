package dataset_test

import (
	"encoding/json"
	"hash/crc32"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// The hashes are of Pillow's images: scripts/gen_resize_golden.py.
func TestAResizedImageIsPillows(t *testing.T) {
	text, err := os.ReadFile("testdata/resize_golden.json")
	require.NoError(t, err)
	var cases [][6]int
	require.NoError(t, json.Unmarshal(text, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		src := tensor.Must(tensor.New(tensor.U8, c[0], c[1], c[2]))
		pixels, err := tensor.Data[uint8](src)
		require.NoError(t, err)
		for p := range pixels {
			pixels[p] = byte(uint32(p+1) * 2654435761 >> 24)
		}
		dst := tensor.Must(tensor.New(tensor.U8, c[3], c[4], c[2]))
		require.NoError(t, dataset.Resize(dst, src))
		got, err := tensor.Data[uint8](dst)
		require.NoError(t, err)
		assert.EqualValues(t, c[5], crc32.ChecksumIEEE(got), "%dx%dx%d to %dx%d", c[0], c[1], c[2], c[3], c[4])
	}
}

func TestWhatIsNoImageIsNotResized(t *testing.T) {
	image := func(shape ...int) *tensor.Tensor { return tensor.Must(tensor.New(tensor.U8, shape...)) }
	for name, c := range map[string][2]*tensor.Tensor{
		"no destination": {nil, image(2, 2, 3)}, "no source": {image(2, 2, 3), nil}, "other channels": {image(2, 2, 1), image(2, 2, 3)}, "no pixels": {image(2, 2, 3), image(0, 2, 3)},
		"floats": {image(2, 2, 3), tensor.Must(tensor.New(tensor.F32, 2, 2, 3))}, "no channels": {image(2, 2), image(2, 2)},
	} {
		var bad *dataset.SizeError
		err := dataset.Resize(c[0], c[1])
		require.ErrorAs(t, err, &bad, name)
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
}

func BenchmarkResize(b *testing.B) {
	src, dst := tensor.Must(tensor.New(tensor.U8, 480, 640, 3)), tensor.Must(tensor.New(tensor.U8, 224, 224, 3))
	b.SetBytes(480 * 640 * 3)
	for b.Loop() {
		if err := dataset.Resize(dst, src); err != nil {
			b.Fatal(err)
		}
	}
}

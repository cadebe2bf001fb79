package dataset_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// oneImage is a source of one frame.
type oneImage []byte

func (o oneImage) ReadFrame(context.Context, int) ([]byte, error) { return bytes.Clone(o), nil }

func TestFramesWithoutDepthAreErrors(t *testing.T) {
	encode := func(img image.Image) []byte {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		return b.Bytes()
	}
	grey := encode(image.NewGray16(image.Rect(0, 0, 2, 1)))
	ctx := context.Background()
	for name, c := range map[string]struct {
		encoding string
		data     []byte
		kind     error
	}{
		"16UC1, a byte short":         {"16UC1", make([]byte, 3), dataset.ErrCorrupt},
		"colours":                     {"rgb8", make([]byte, 6), dataset.ErrUnsupported},
		"jpeg":                        {"jpeg", nil, dataset.ErrUnsupported},
		"png with 8 bits":             {"png", encode(image.NewGray(image.Rect(0, 0, 2, 1))), dataset.ErrUnsupported},
		"png, cut":                    {"png", grey[:40], dataset.ErrTruncated},
		"png, a wrong checksum":       {"png", append(bytes.Clone(grey[:29]), 0, 0, 0, 0), dataset.ErrCorrupt},
		"compressedDepth, cut":        {"compresseddepth", make([]byte, 11), dataset.ErrTruncated},
		"compressedDepth without png": {"compresseddepth", make([]byte, 30), dataset.ErrCorrupt},
	} {
		m := dataset.Media{Name: "depth", Times: []int64{0}, Encoding: c.encoding, Width: 2, Height: 1, Source: oneImage(c.data)}
		_, err := m.DecodeDepth(ctx, 0)
		assert.ErrorAs(t, err, new(*dataset.FormatError), name)
		assert.ErrorIs(t, err, c.kind, name)
		assert.ErrorContains(t, err, "frame 0 of depth", name)
	}
	m := dataset.Media{Name: "depth", Times: []int64{0}, Encoding: "png", Source: oneImage(grey)}
	_, err := m.DecodeDepth(ctx, 1)
	assert.ErrorAs(t, err, new(*dataset.RangeError))
}

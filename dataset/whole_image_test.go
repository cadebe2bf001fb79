package dataset

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
)

// A frame that is cut anywhere is not whole, nor is a PNG of another byte; a JPEG whose scan has no data is for the decoder.
func TestTheStructureOfAFrameShowsThatItIsWhole(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 64, 48))
	for i := range img.Pix {
		img.Pix[i] = uint8(i * i >> 5)
	}
	var p, j bytes.Buffer
	require.NoError(t, png.Encode(&p, img))
	require.NoError(t, jpeg.Encode(&j, img, nil))
	for encoding, b := range map[string][]byte{"png": p.Bytes(), "jpeg": j.Bytes()} {
		m := &Media{Encoding: encoding}
		require.True(t, m.IsWhole(b), encoding)
		require.True(t, m.IsWhole(append(bytes.Clone(b), 0, 0, 0)), "%s: bytes after the end", encoding)
		for n := range b {
			require.False(t, m.IsWhole(b[:n]), "%s of %d bytes", encoding, n)
		}
		require.False(t, (&Media{Encoding: "rgb8"}).IsWhole(b))
	}
	for i := range p.Len() {
		b := bytes.Clone(p.Bytes())
		b[i] ^= 4
		require.False(t, (&Media{Encoding: "png"}).IsWhole(b), "byte %d", i)
	}
	scan := scanJPEG(j.Bytes()).scan
	require.False(t, (&Media{Encoding: "jpeg"}).IsWhole(append(bytes.Clone(j.Bytes()[:scan+10]), 0xff, 0xd9)))
	require.False(t, (&Media{Encoding: "png"}).IsWhole(j.Bytes()))
	require.False(t, (&Media{Encoding: "jpeg"}).IsWhole(p.Bytes()))
}

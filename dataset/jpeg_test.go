package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// Frames of Motion-JPEG in colour have the pixels of the file with tables and marker, also where a driver pads them with zeros.
func TestMotionJPEGIsWhole(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 33, 18))
	for i := range img.Pix {
		img.Pix[i] = byte(i * i)
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, nil))
	whole := b.Bytes()
	at := bytes.Index(whole, []byte{0xff, 0xc4})
	end := at + 2 + int(binary.BigEndian.Uint16(whole[at+2:]))
	bare := append(bytes.Clone(whole[:at]), whole[end:]...)
	decode := func(b []byte) []uint8 {
		m := Media{Times: []int64{0}, Encoding: "jpeg", Source: frames{b}}
		pixels, err := m.Decode(context.Background(), 0)
		require.NoError(t, err)
		list, err := tensor.Data[uint8](pixels)
		require.NoError(t, err)
		return list
	}
	want := decode(whole)
	for name, b := range map[string][]byte{
		"no tables": bare, "no end": whole[:len(whole)-2], "neither": bare[:len(bare)-2], "zeros after the end": append(bytes.Clone(bare), make([]byte, 999)...),
		"fill bytes": append([]byte{0xff, 0xd8, 0xff, 0xff}, bare[2:]...),
	} {
		assert.Equal(t, want, decode(b), name)
	}
	for n := range whole { // no prefix panics
		m := Media{Times: []int64{0}, Encoding: "jpeg", Source: frames{whole[:n]}}
		_, err := m.Decode(context.Background(), 0)
		assert.True(t, err != nil || n == len(whole)-1 || n == len(whole)-2 || n > len(whole)/2, n)
	}
}

type frames [][]byte

func (f frames) ReadFrame(_ context.Context, i int) ([]byte, error) { return f[i], nil }

func TestImageSizeIsThatOfTheHeader(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 7, 5))
	img.SetGray(1, 1, color.Gray{9})
	var j, p bytes.Buffer
	require.NoError(t, jpeg.Encode(&j, img, nil))
	require.NoError(t, png.Encode(&p, img))
	for _, b := range [][]byte{j.Bytes(), p.Bytes()} {
		width, height := ImageSize(b)
		assert.Equal(t, []int{7, 5}, []int{width, height})
		for n := range 20 {
			width, height = ImageSize(b[:n])
			assert.Equal(t, []int{0, 0}, []int{width, height})
		}
	}
}

func TestAPanicOfAReaderIsAnErrorOfItsFile(t *testing.T) {
	d := Single("fake", "a.fake", func(context.Context) (*Episode, error) {
		var list []int
		return nil, RangeErrorOf(list[3])
	})
	_, err := d.Episode(context.Background(), 0)
	var bad *FormatError
	require.ErrorAs(t, err, &bad)
	assert.ErrorIs(t, err, ErrCorrupt)
	assert.Equal(t, []string{"a.fake", "a panic: runtime error: index out of range [3] with length 0"}, []string{bad.Path, bad.Got})
}

// RangeErrorOf gives the index a use.
func RangeErrorOf(i int) error { return &RangeError{Got: i} }

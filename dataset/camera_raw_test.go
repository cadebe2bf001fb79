package dataset

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

type oneFrame []byte

func (f oneFrame) ReadFrame(context.Context, int) ([]byte, error) {
	return append([]byte(nil), f...), nil
}

func decodedFrame(t *testing.T, encoding string, width, height int, frame []byte) []byte {
	m := Media{Name: "camera", Encoding: encoding, Width: width, Height: height, Times: []int64{0}, Source: oneFrame(frame)}
	require.True(t, m.Decodes(), encoding)
	picture, err := m.Decode(t.Context(), 0)
	require.NoError(t, err, encoding)
	assert.Equal(t, []int{height, width, 3}, picture.Shape())
	data, err := tensor.Data[byte](picture)
	require.NoError(t, err)
	return data
}

// The colours of BT.601: black, white, red and blue, as OpenCV's cvtColor gives them.
func TestSubsampledColour(t *testing.T) {
	for name, c := range map[string]struct {
		y, u, v byte
		want    [3]int
	}{
		"black": {16, 128, 128, [3]int{0, 0, 0}}, "white": {235, 128, 128, [3]int{255, 255, 255}},
		"red": {81, 90, 240, [3]int{254, 0, 0}}, "blue": {41, 240, 110, [3]int{0, 0, 255}},
	} {
		for encoding, bytes := range map[string][]byte{"yuv422": {c.u, c.y, c.v, c.y}, "UYVY": {c.u, c.y, c.v, c.y}, "yuv422_yuy2": {c.y, c.u, c.y, c.v}, "yuyv": {c.y, c.u, c.y, c.v}} {
			got := decodedFrame(t, encoding, 2, 1, bytes)
			for i, v := range got {
				assert.InDelta(t, c.want[i%3], int(v), 1, "%s %s", name, encoding)
			}
		}
	}
	m := Media{Name: "camera", Encoding: "yuyv", Width: 2, Height: 1, Times: []int64{0}, Source: oneFrame{1, 2, 3}}
	_, err := m.Decode(t.Context(), 0)
	assert.ErrorIs(t, err, ErrCorrupt)
}

// A picture of one colour has it in every pixel, whatever the pattern, and a ramp stays one inside.
func TestMosaicOfOneColour(t *testing.T) {
	colour := map[byte]byte{'r': 200, 'g': 100, 'b': 50}
	for _, order := range []string{"rggb", "bggr", "grbg", "gbrg"} {
		const w, h = 6, 4
		frame, ramp := make([]byte, w*h), make([]byte, w*h)
		for i := range frame {
			frame[i] = colour[order[i/w&1*2+i%w&1]]
			ramp[i] = byte(10 * (i % w))
		}
		got := decodedFrame(t, "bayer_"+order+"8", w, h, frame)
		for i := 0; i < len(got); i += 3 {
			assert.Equal(t, []byte{200, 100, 50}, got[i:i+3], "%s pixel %d", order, i/3)
		}
		got = decodedFrame(t, "bayer_"+order+"8", w, h, ramp)
		for x := 1; x < w-1; x++ {
			assert.Equal(t, []byte{byte(10 * x), byte(10 * x), byte(10 * x)}, got[3*(w+x):3*(w+x)+3], order)
		}
	}
	frame, deep := make([]byte, 12), make([]byte, 24)
	for i := range frame {
		frame[i] = byte(20 * i)
		deep[2*i], deep[2*i+1] = frame[i], frame[i] // 257 times the value of 8 bits
	}
	for _, order := range []string{"rggb", "bggr", "grbg", "gbrg"} {
		assert.Equal(t, decodedFrame(t, "bayer_"+order+"8", 4, 3, frame), decodedFrame(t, "bayer_"+order+"16", 4, 3, deep), order)
	}
	small := Media{Name: "camera", Encoding: "bayer_rggb8", Width: 2, Height: 2, Times: []int64{0}, Source: oneFrame{1, 2, 3, 4}}
	_, err := small.Decode(t.Context(), 0)
	assert.ErrorIs(t, err, ErrUnsupported)
}

// Colours of 16 bits are rounded to the nearest of 8 bits: 257 times a value is that value.
func TestColoursOf16BitsAreRounded(t *testing.T) {
	frame := []byte{0, 0, 128, 0, 129, 0, 255, 255, 1, 2, 126, 127} // 0, 128, 129, 65535, 513, 32638
	assert.Equal(t, []byte{0, 0, 1, 255, 2, 127}, decodedFrame(t, "rgb16", 2, 1, frame))
	assert.Equal(t, []byte{1, 0, 0, 127, 2, 255}, decodedFrame(t, "bgr16", 2, 1, frame))
	for _, n := range []int{6, 11} {
		short := Media{Name: "camera", Encoding: "rgb16", Width: 2, Height: 1, Times: []int64{0}, Source: oneFrame(frame[:n])}
		_, err := short.Decode(t.Context(), 0)
		assert.ErrorIs(t, err, ErrCorrupt)
	}
}

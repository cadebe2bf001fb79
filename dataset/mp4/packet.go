package mp4

import (
	"context"
	"encoding/binary"

	"github.com/robocache/robocache/internal/video"
)

// Separable reports whether the frames from to to-1 can be decoded as packets, without the file: see Packet. The codec must be h264, hevc,
// vp9 or av1, and the first frame must be a key frame. No frame may be lost, and each must be decoded in the order in which it is shown,
// so that there are no B-frames.
func (t *Track) Separable(from, to int) bool {
	if from < 0 || from >= to || to > t.Len() || !video.Decodes(t.Codec) || !t.fresh(int(t.order[from])) {
		return false
	}
	if _, _, ok := t.sets(); !ok {
		return false
	}
	for i, s := range t.order[from:to] {
		if s != t.order[from]+int32(i) || t.samples[s].size == 0 {
			return false
		}
	}
	return true
}

// Packet returns frame i as messages have it. In h264 and hevc each NAL unit has a start code (Annex B), and a key frame begins with the
// parameter sets. In av1 a key frame has the sequence header. Bytes after a broken length become one unit. The errors are those of
// ReadFrame.
func (t *Track) Packet(ctx context.Context, i int) ([]byte, error) {
	data, err := t.ReadFrame(ctx, i)
	if err != nil {
		return nil, err
	}
	key := t.Key(i)
	switch t.Codec {
	case "av1":
		if key && len(t.Config) > 4 && !video.Begins("av1", data) {
			return append(t.Config[4:len(t.Config):len(t.Config)], data...), nil // OBUs after the fixed part of av1C
		}
	case "h264", "hevc":
		sets, prefix, _ := t.sets()
		var out []byte
		if key {
			out = append(out, sets...)
		}
		for ok := true; len(data) > 0; {
			if out, data, ok = appendUnit(out, data, prefix); !ok {
				return append(append(out, startCode...), data...), nil
			}
		}
		return out, nil
	}
	return data, nil
}

var startCode = []byte{0, 0, 0, 1}

// sets returns the parameter sets in the decoder configuration, with start codes, and the length in bytes of the length before each NAL
// unit. ok is false if the configuration is broken. Other codecs than h264 and hevc have no sets.
func (t *Track) sets() (sets []byte, prefix int, ok bool) {
	c := t.Config
	add := func(n int) bool {
		for ; n > 0; n-- {
			var whole bool
			if sets, c, whole = appendUnit(sets, c, 2); !whole {
				return false
			}
		}
		return true
	}
	switch t.Codec { // ISO/IEC 14496-15, 5.3.3.1 and 8.3.3.1
	case "h264":
		if len(c) < 6 {
			return nil, 0, false
		}
		prefix, c = 1+int(c[4]&3), c[5:]
		for _, mask := range []byte{31, 255} {
			if len(c) == 0 {
				return nil, 0, false
			}
			n := int(c[0] & mask)
			if c = c[1:]; !add(n) {
				return nil, 0, false
			}
		}
	case "hevc":
		if len(c) < 23 {
			return nil, 0, false
		}
		arrays := int(c[22])
		prefix, c = 1+int(c[21]&3), c[23:]
		for range arrays {
			if len(c) < 3 {
				return nil, 0, false
			}
			n := int(binary.BigEndian.Uint16(c[1:]))
			if c = c[3:]; !add(n) {
				return nil, 0, false
			}
		}
	}
	return sets, prefix, true
}

// appendUnit appends the first NAL unit in from to to, with a start code, and returns the rest. Its length comes before it, in size bytes.
// ok is false if the unit is cut.
func appendUnit(to, from []byte, size int) (_, rest []byte, ok bool) {
	if len(from) < size {
		return to, from, false
	}
	n := 0
	for _, b := range from[:size] {
		n = n<<8 | int(b)
	}
	if from = from[size:]; n > len(from) {
		return to, from, false
	}
	return append(append(to, startCode...), from[:n]...), from[n:], true
}

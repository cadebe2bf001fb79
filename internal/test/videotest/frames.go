package videotest

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// engine has a line for each stream: its name, the frame count, and the FNV-1a hash over all frames in display order. An H200 decoded
// them with the driver's own parser. The hash takes as many bytes from each row as there are pixels, NV12 or P016.
//
//go:embed testdata/frames.txt
var engine string

// whole has such lines for streams with more than 8 bits, and for plain streams. The rows are complete. ffmpeg 5.1 decoded the frames; HEVC
// frames from libde265 1.0.11 are equal. Both differ from kvazaar's checksums in hevc_tilewpp, which therefore has no line.
//
//go:embed testdata/planes.txt
var whole string

// Frames are a stream's decoded frames, as hashes.
type Frames struct {
	*Stream
	Count         int
	Engine, Whole string // FNV-1a, or "" if it was not recorded
}

// Decoded returns the streams whose frames are known, sorted by their names.
func Decoded(t testing.TB) (list []*Frames) {
	t.Helper()
	all, byName := maps.Clone(Streams(t, "h")), map[string]*Frames{}
	maps.Copy(all, Plain(t))
	for i, lines := range []string{engine, whole} {
		for line := range strings.Lines(lines) {
			var name, hash string
			var count int
			_, err := fmt.Sscan(line, &name, &count, &hash)
			require.NoError(t, err)
			f := byName[name]
			if f == nil {
				f = &Frames{Stream: all[name], Count: count}
				byName[name] = f
			}
			if i == 0 {
				f.Engine = hash
			} else {
				f.Whole = hash
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list
}

// Frame is a decoded picture: luma rows, then rows with alternating chroma samples. Samples with more than 8 bits are 16-bit numbers in
// the machine's order, in the low bits.
type Frame struct {
	Width, Bits int
	Rows        [][]byte
}

// Check compares all frames, in display order, with the hashes.
func (f *Frames) Check(t testing.TB, frames []Frame) {
	t.Helper()
	require.Len(t, frames, f.Count, f.Name)
	engine, whole := Hash(frames)
	if f.Engine != "" {
		assert.Equal(t, f.Engine, engine, f.Name)
	}
	if f.Whole != "" {
		assert.Equal(t, f.Whole, whole, f.Name)
	}
}

// Hash returns two hashes over frames: by the first bytes in each row, as in Frames.Engine, and by whole rows.
func Hash(frames []Frame) (engine, whole string) {
	first, all := fnv.New64a(), fnv.New64a()
	for _, f := range frames {
		for _, row := range f.Rows {
			if f.Bits > 8 {
				high := make([]byte, 0, len(row))
				for at := 0; at < len(row); at += 2 {
					high = binary.LittleEndian.AppendUint16(high, binary.NativeEndian.Uint16(row[at:])<<(16-f.Bits))
				}
				row = high
			}
			first.Write(row[:f.Width])
			all.Write(row)
		}
	}
	return fmt.Sprintf("%016x", first.Sum64()), fmt.Sprintf("%016x", all.Sum64())
}

package hevc

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video/picture"
)

func fnv1a(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// normalised returns the driver's parameters with our surfaces and without addresses. surfaces maps the driver's surfaces to ours.
func normalised(t *testing.T, p picture.Params, ours int, surfaces map[int]int) picture.Params {
	surfaces[p.Int(picture.Surface)] = ours
	p.Put(picture.Surface, ours)
	for i := range 16 {
		if s := p.Int(surfaceAt(i)); s >= 0 {
			require.Contains(t, surfaces, s)
			p.Put(surfaceAt(i), surfaces[s])
		}
	}
	clear(p[picture.DataAddress:][:8])
	clear(p[picture.SliceAddress:][:8])
	return p
}

func surfaceAt(slot int) int { return picture.Codec + slotSurfaces + 4*slot }
func orderAt(slot int) int   { return picture.Codec + slotCounts + 4*slot }

// countAt returns the offset where a list's length is. Lists are before, after and long-term.
func countAt(list int) int { return picture.Codec + setBits + 12 + 4*list }

// Two things differ: surfaces have other numbers, and the driver's slices end with the zero bytes between NAL units.
func TestParametersAreTheDrivers(t *testing.T) {
	for name, s := range videotest.Streams(t, "hevc_") {
		t.Run(name, func(t *testing.T) {
			p, err := New(nil, 4)
			require.NoError(t, err)
			if name == "hevc_gray12" {
				_, err := p.Parse(s.Packets[0])
				assert.Equal(t, &picture.UnsupportedError{Codec: "hevc", Feature: picture.Chroma, Got: 0}, err)
				return
			}
			surfaces := map[int]int{}
			require.Len(t, s.Pictures, len(s.Packets))
			for i, packet := range s.Packets {
				pic, err := p.Parse(packet)
				require.NoError(t, err)
				want := s.Pictures[i]
				require.Equal(t, i, want.Packet)
				assert.False(t, pic.Undecodable)
				slices := packet[len(packet)-want.Params.Int(picture.DataSize):]
				require.Equal(t, want.Hash, fnv1a(slices))
				require.Equal(t, split(slices, want.Slices), split(pic.Data, pic.Slices))
				require.Equal(t, len(pic.Data), pic.Params.Int(picture.DataSize))
				want.Params.Put(picture.DataSize, len(pic.Data))
				require.Empty(t, differences(normalised(t, want.Params, pic.Params.Int(picture.Surface), surfaces), pic.Params), "packet %d", i)
				checkFormat(t, s.Formats[0], pic.Format)
			}
		})
	}
}

// split returns the slices in data without trailing zero bytes.
func split(data []byte, offsets []uint32) (list [][]byte) {
	for i, at := range offsets {
		end := len(data)
		if i+1 < len(offsets) {
			end = int(offsets[i+1])
		}
		list = append(list, bytes.TrimRight(data[at:end], "\x00"))
	}
	return list
}

// differences lists offsets where bytes differ, with the driver's value and ours.
func differences(want, got picture.Params) (list [][3]int) {
	for i := range want {
		if want[i] != got[i] {
			list = append(list, [3]int{i, int(want[i]), int(got[i])})
		}
	}
	return list
}

func checkFormat(t *testing.T, want [80]byte, f *picture.Format) {
	number := func(at int) int { return int(binary.LittleEndian.Uint32(want[at:])) }
	assert.Equal(t, [2]int{number(16), number(20)}, [2]int{f.Width, f.Height})
	assert.Equal(t, [4]int{number(24), number(28), number(32), number(36)}, f.Crop)
	assert.Equal(t, int(want[13])+8, f.Bits)
	assert.LessOrEqual(t, f.Surfaces, int(want[15]))
	assert.Equal(t, [3]uint8(want[57:60]), f.Colour)
	assert.Equal(t, want[56]&8 != 0, f.FullRange)
}

package h264

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video/picture"
)

// unsupportedStreams are the streams that the driver's parser reads and this one does not.
var unsupportedStreams = map[string]picture.UnsupportedError{
	"h264_interlaced": {Codec: codec, Feature: picture.Interlaced, Got: 1},
	"h264_lossless":   {Codec: codec, Feature: picture.Profile, Got: 244},
}

// normal returns parameters without addresses and reserved fields, with packet numbers in place of surfaces. holds maps a surface to
// the packet that it holds.
func normal(p picture.Params, holds map[int]int) picture.Params {
	clear(p[picture.DataAddress : picture.DataAddress+8])
	clear(p[picture.SliceAddress : picture.SliceAddress+8])
	clear(p[picture.IsIntra+4 : picture.Codec])
	reserved := picture.Codec + adaptiveFlags + 4
	clear(p[reserved : reserved+11*4])
	p.Put(picture.Surface, holds[p.Int(picture.Surface)])
	for at := picture.Codec + entries; at < picture.Codec+weights4x4; at += entrySize {
		if s := p.Int(at + entrySurface); s != none {
			p.Put(at+entrySurface, holds[s])
		}
	}
	return p
}

// sorted returns normal parameters with the references in the order of packets.
func sorted(p picture.Params) picture.Params {
	var list [][]byte
	for at := picture.Codec + entries; at < picture.Codec+weights4x4; at += entrySize {
		list = append(list, slices.Clone(p[at:at+entrySize]))
	}
	slices.SortFunc(list, slices.Compare)
	copy(p[picture.Codec+entries:], slices.Concat(list...))
	return p
}

// slots are the places of the driver's parser for decoded pictures, by packet. They give the order of the references in its parameters.
// A picture is in the first free slot as long as it is a reference or is not shown. This package appends references instead, because
// decoders make their lists from frame_num and the order counts.
type slots struct {
	packets []int
	shown   map[int]bool
}

// place returns normal parameters with the references in their slots.
func (s *slots) place(p picture.Params) picture.Params {
	from := p
	put := func(slot int, entry []byte) { copy(p[picture.Codec+entries+slot*entrySize:], entry) }
	var empty [entrySize]byte
	binary.NativeEndian.PutUint32(empty[:], math.MaxUint32)
	for i := range mostReferences {
		put(i, empty[:])
	}
	for at := picture.Codec + entries; at < picture.Codec+weights4x4; at += entrySize {
		if packet := from.Int(at + entrySurface); packet != none {
			put(slices.Index(s.packets, packet), from[at:at+entrySize])
		}
	}
	return p
}

// store stores a picture after the references of the next one are marked. shows are the packets that the driver shows in between: some
// until a slot is free, and the others after the picture is stored. A picture that is shown at once needs no slot.
func (s *slots) store(packet int, next picture.Params, shows []int) {
	reference := map[int]bool{}
	for _, r := range since(&next, 0, 0) {
		reference[r.packet] = true
	}
	free := func() int {
		for i, held := range s.packets {
			if s.shown[held] && !reference[held] {
				s.packets[i] = none
			}
		}
		return slices.Index(s.packets, none)
	}
	slot := free()
	for ; slot == none; slot = free() {
		s.shown[shows[0]] = true
		shows = shows[1:]
	}
	if reference[packet] || len(shows) == 0 || shows[0] != packet {
		s.packets[slot] = packet
	}
	for _, p := range shows {
		s.shown[p] = true
	}
}

func newSlots(format [80]byte) *slots {
	return &slots{slices.Repeat([]int{none}, min(mostReferences, int(format[15]))), map[int]bool{}}
}

func newParser(t testing.TB, extra int) *Parser {
	p, err := New(nil, extra)
	require.NoError(t, err)
	return p
}

func TestParametersAreThoseOfTheDriver(t *testing.T) {
	for name, stream := range videotest.Streams(t, "h264_") {
		t.Run(name, func(t *testing.T) {
			if want, ok := unsupportedStreams[name]; ok {
				_, err := newParser(t, 0).Parse(stream.Packets[0])
				assert.Equal(t, &want, err)
				return
			}
			const extra = 3
			p := newParser(t, extra)
			ours, theirs := map[int]int{}, map[int]int{}
			var format *picture.Format
			slots := newSlots(stream.Formats[0])
			for i, packet := range stream.Packets {
				got, err := p.Parse(packet)
				require.NoError(t, err)
				want := stream.Pictures[i]
				require.Equal(t, i, want.Packet)

				surface := got.Params.Int(picture.Surface)
				if held, ok := ours[surface]; ok {
					assert.Greater(t, i-held, extra, "a surface is overwritten too early")
				}
				var shows []int
				for _, s := range stream.Shown {
					if s.After == i-1 {
						shows = append(shows, theirs[s.Surface])
					}
				}
				ours[surface], theirs[want.Params.Int(picture.Surface)] = i, i
				a, b := normal(got.Params, ours), normal(want.Params, theirs)
				if i > 0 {
					slots.store(i-1, a, shows)
				}
				require.Equal(t, []int(nil), differences(slots.place(a), b), "packet %d", i)
				require.Equal(t, want.Slices, got.Slices)
				h := fnv.New64a()
				h.Write(got.Data)
				require.Equal(t, want.Hash, h.Sum64(), "packet %d", i)
				assert.False(t, got.Undecodable)
				if format == nil {
					format = got.Format
				}
				assert.Same(t, format, got.Format)
			}
			assert.Len(t, stream.Pictures, len(stream.Packets))
			sameFormat(t, stream.Formats, format)
		})
	}
}

// differences returns the offsets of int32 values that differ.
func differences(a, b picture.Params) (offsets []int) {
	for at := 0; at < picture.Size; at += 4 {
		if a.Int(at) != b.Int(at) {
			offsets = append(offsets, at)
		}
	}
	return offsets
}

// sameFormat compares a format with the driver's CUVIDEOFORMAT.
func sameFormat(t *testing.T, formats [][80]byte, got *picture.Format) {
	t.Helper()
	require.Len(t, formats, 1)
	var p picture.Params
	copy(p[:], formats[0][:])
	assert.Equal(t, []int{p.Int(16), p.Int(20)}, []int{got.Width, got.Height})
	assert.Equal(t, [4]int{p.Int(24), p.Int(28), p.Int(32), p.Int(36)}, got.Crop)
	assert.EqualValues(t, 8+p[13], got.Bits)
	assert.LessOrEqual(t, got.Surfaces, int(p[15])) // theirs count pictures that wait for their time too
	assert.Equal(t, p[56]>>3&1 == 1, got.FullRange)
	assert.Equal(t, [3]uint8(p[57:]), got.Colour)
}

func TestFieldsOfParametersDoNotOverlap(t *testing.T) {
	sizes := map[int]int{
		log2MaxFrameNum: 4, orderType: 4, log2MaxOrderLow: 4, deltaAlwaysZero: 4, frameMbsOnly: 4, direct8x8: 4, numRefFrames: 4,
		28:                4, // residual_colour_transform_flag, bit depths, lossless
		entropyCodingMode: 4, orderPresent: 4, activeL0: 4, activeL1: 4, weightedPred: 4, weightedBipred: 4, initQP: 4,
		deblockingControl: 4, redundantCount: 4, transform8x8: 4,
		72:               4, // MbaffFrameFlag
		constrainedIntra: 4, chromaQP: 4, secondChromaQP: 4, isReference: 4, frameNum: 4, fieldOrderCounts: 8,
		entries: 16 * entrySize, weights4x4: 6 * 16, weights8x8: 2 * 64,
		776:           3, // slice groups
		initQS:        1,
		780:           12, // slice groups
		adaptiveFlags: 4,
		796:           44, // reserved
	}
	at := 0
	for _, offset := range slices.Sorted(maps.Keys(sizes)) {
		assert.Equal(t, at, offset)
		at += sizes[offset]
	}
	assert.Equal(t, 840, at) // where the extensions for SVC and MVC begin
	assert.Equal(t, 28, entryCounts+8)
}

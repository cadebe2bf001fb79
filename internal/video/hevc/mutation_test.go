package hevc

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video/picture"
)

// checkPicture checks the promises that hold for each picture, also from damaged packets.
func checkPicture(t testing.TB, pic *picture.Picture) {
	p := &pic.Params
	f := pic.Format
	require.True(t, f.Width <= maxSide+15 && f.Height <= maxSide+15 && f.Width%16 == 0 && f.Height%16 == 0 && f.Width > 0 && f.Height > 0)
	require.True(t, 0 <= f.Crop[0] && f.Crop[0] < f.Crop[2] && f.Crop[2] <= f.Width)
	require.True(t, 0 <= f.Crop[1] && f.Crop[1] < f.Crop[3] && f.Crop[3] <= f.Height)
	require.True(t, f.Bits == 8 || f.Bits == 10 || f.Bits == 12)
	require.True(t, f.Surfaces >= 1 && f.Surfaces <= 16)
	require.Equal(t, len(pic.Data), p.Int(picture.DataSize))
	require.Equal(t, len(pic.Slices), p.Int(picture.SliceCount))
	require.True(t, len(pic.Slices) > 0 && len(pic.Slices) <= maxSegments)
	for _, at := range pic.Slices {
		require.Equal(t, []byte{0, 0, 1}, pic.Data[at:at+3])
	}
	used := map[int]bool{p.Int(picture.Surface): true}
	for slot := range 16 {
		if s := p.Int(surfaceAt(slot)); s >= 0 {
			require.False(t, used[s])
			used[s] = true
		}
	}
	require.LessOrEqual(t, len(used), f.Surfaces)
	sum := 0
	for list := range 3 {
		count := p.Int(countAt(list))
		sum += count
		require.True(t, count >= 0 && count <= 8)
		for i := range count {
			slot := int(p[picture.Codec+slotLists+8*list+i])
			require.True(t, slot < 16 && (pic.Undecodable || p.Int(surfaceAt(slot)) >= 0))
		}
	}
	require.Equal(t, sum, p.Int(picture.Codec+setBits+8))
}

func checkError(t testing.TB, err error) {
	var bad *picture.InvalidError
	var other *picture.UnsupportedError
	switch {
	case errors.As(err, &bad):
		require.NotEmpty(t, bad.Element)
		require.Equal(t, codec, bad.Codec)
	case errors.As(err, &other):
		require.NotEmpty(t, other.Feature)
		require.Equal(t, codec, other.Codec)
	default:
		require.NoError(t, err)
	}
}

// mutate changes some bytes in a packet, most often in its parameter sets and its first slice header.
func mutate(r *rand.Rand, packet, other []byte) []byte {
	b := slices.Clone(packet)
	for range 1 + r.IntN(3) {
		if len(b) < 8 {
			return b
		}
		i := r.IntN(len(b))
		if r.IntN(4) > 0 {
			i = r.IntN(min(len(b), 120))
		}
		switch r.IntN(8) {
		case 0:
			b[i] = byte(r.Uint32())
		case 1:
			b = slices.Delete(b, i, min(len(b), i+1+r.IntN(4)))
		case 2:
			b = slices.Insert(b, i, byte(r.Uint32()), byte(r.Uint32()))
		case 3:
			b = b[:i]
		case 4: // another stream's bytes
			b = append(b[:i:i], other[min(len(other), r.IntN(120)):]...)
		default:
			b[i] ^= 1 << r.IntN(8)
		}
	}
	return b
}

func TestDamagedPacketsAreErrorsOrPictures(t *testing.T) {
	streams := [][][]byte{}
	all := videotest.Streams(t, "hevc_")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		streams = append(streams, all[name].Packets)
	}
	plain := videotest.Plain(t)
	for _, name := range []string{"hevc_tiles", "hevc_tilesexplicit", "hevc_tileslices", "hevc_wppslices", "hevc_tilewpp"} {
		streams = append(streams, plain[name].Packets)
	}
	r := rand.New(rand.NewPCG(1, 2))
	pictures, invalid, unsupported := 0, 0, 0
	for done := 0; done < thorough.Of(4000, 1_000_000); {
		packets := streams[r.IntN(len(streams))]
		other := streams[r.IntN(len(streams))]
		p, err := New(nil, r.IntN(3))
		require.NoError(t, err)
		for _, packet := range packets[:min(len(packets), 6)] {
			if r.IntN(3) > 0 {
				packet = mutate(r, packet, other[r.IntN(len(other))])
				done++
			}
			pic, err := p.Parse(packet)
			checkError(t, err)
			switch other := (*picture.UnsupportedError)(nil); {
			case errors.As(err, &other):
				unsupported++
			case err != nil:
				invalid++
			case pic != nil:
				checkPicture(t, pic)
				pictures++
			}
		}
	}
	assert.Greater(t, pictures, 500)
	assert.Greater(t, invalid, 500)
	assert.Greater(t, unsupported, 50)
	t.Log(pictures, invalid, unsupported)
}

func FuzzParse(f *testing.F) {
	for name, s := range videotest.Streams(f, "hevc_") {
		var sets [][]byte
		first := lengths(s.Packets[0], 4, &sets)
		f.Add([]byte(nil), s.Packets[0], s.Packets[1])
		if name == "hevc_main" || name == "hevc_scaling" {
			f.Add(configuration(4, sets), first, lengths(s.Packets[1], 4, &sets))
		}
	}
	f.Fuzz(func(t *testing.T, config, first, second []byte) {
		p, err := New(config, 1)
		checkError(t, err)
		if err != nil {
			return
		}
		for _, packet := range [][]byte{first, second, first, bytes.Join([][]byte{first, second}, nil)} {
			pic, err := p.Parse(packet)
			checkError(t, err)
			if pic != nil {
				checkPicture(t, pic)
			}
		}
	})
}

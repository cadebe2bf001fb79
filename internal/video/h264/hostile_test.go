package h264

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// hostileSeeds are streams of packets with the first bytes of their NAL units. Each packet follows its length of 2 bytes.
func hostileSeeds(t testing.TB) (seeds []mutate.Seed) {
	add := func(name string, packets [][]byte) {
		var data []byte
		for _, p := range packets {
			var nals [][]byte
			for nal := range bitstream.Units(p, 0) {
				nals = append(nals, nal[:min(len(nal), 24)])
			}
			p = annexB(nals...)
			data = append(binary.BigEndian.AppendUint16(data, uint16(len(p))), p...)
		}
		seeds = append(seeds, mutate.Seed{Name: name, Data: data})
	}
	streams := videotest.Streams(t, "h264_")
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		add(name, streams[name].Packets[:min(10, len(streams[name].Packets))])
	}
	s := newSets(3)
	s.gapsAllowed, s.weightedBi, s.orderPresent, s.redundant = true, 1, true, true
	s.pps.scaling = scaling{present: true, lists: [8]origin{explicit, 2: standard, 6: explicit}}
	b := header{identity: identity{frameNum: 4, orderLow: 5}, kind: sliceB}
	b.modifications = [2][]modification{{{0, 1}, {2, 0}}, {{1, 0}}}
	for kind := range 3 {
		s.orderType, s.cycle = kind, 4
		var packets [][]byte
		for _, h := range []header{
			idrHeader, pictureP(1, operation{code: 6, long: 1}), pictureP(2, operation{code: 3, operand: 1, long: 0}), pictureP(3, operation{code: 4, operand: 1}), b,
			pictureP(7, operation{code: 1}, operation{code: 2}), pictureP(8, operation{code: 5}), b,
		} {
			packets = append(packets, annexB(recoveryMessage(recovery{frames: 1, exact: true}), s.slice(h)))
		}
		packets[0] = append(s.packet(), packets[0]...)
		add("made by hand", packets)
	}
	return seeds
}

// tryHostile parses packets as annex B, or with lengths, and requires possible parameters and typed errors.
func tryHostile(t testing.TB, data []byte, config []byte) {
	const extra = 2
	p, err := New(config, extra)
	requireTyped(t, err)
	if err != nil {
		p = newParser(t, extra)
	}
	written, decoded := map[int]int{}, 0
	var format *picture.Format
	for len(data) >= 2 {
		n := min(2+int(binary.BigEndian.Uint16(data)), len(data))
		packet := data[2:n]
		data = data[n:]
		got, err := p.Parse(packet)
		requireTyped(t, err)
		if got == nil {
			if len(packet)%4 == 3 {
				p.Reset()
			}
			continue
		}
		require.NoError(t, err)
		if got.Format != format {
			format = got.Format
			clear(written)
		}
		decoded++
		requirePossible(t, got, extra)
		surface := got.Params.Int(picture.Surface)
		if when, ok := written[surface]; ok {
			require.Greater(t, decoded-when, extra)
		}
		written[surface] = decoded
	}
}

func requireTyped(t testing.TB, err error) {
	var bad *picture.InvalidError
	var other *picture.UnsupportedError
	if err != nil && !errors.As(err, &bad) && !errors.As(err, &other) {
		t.Fatalf("an error without a type: %v", err)
	}
}

// requirePossible requires parameters that cannot make a decoder read or write outside its memory.
func requirePossible(t testing.TB, p *picture.Picture, extra int) {
	f, params := p.Format, &p.Params
	require.True(t, 0 <= f.Crop[0] && f.Crop[0] < f.Crop[2] && f.Crop[2] <= f.Width && 0 <= f.Crop[1] && f.Crop[1] < f.Crop[3] && f.Crop[3] <= f.Height, "%+v", *f)
	require.Equal(t, f.Width, 16*params.Int(picture.WidthInMacroblocks))
	require.Equal(t, f.Height, 16*params.Int(picture.HeightInMacroblocks))
	require.LessOrEqual(t, f.Width*f.Height, mostMacroblocks*256)
	surface := params.Int(picture.Surface)
	require.True(t, surface >= 0 && surface < f.Surfaces+extra)
	used := []int{surface}
	references := entriesOf(p)
	require.Less(t, len(references), f.Surfaces)
	for _, r := range references {
		if r.packet != none {
			require.NotContains(t, used, r.packet)
			require.True(t, r.packet >= 0 && r.packet < f.Surfaces+extra)
			used = append(used, r.packet)
		}
	}
	require.Equal(t, len(p.Data), params.Int(picture.DataSize))
	require.Equal(t, len(p.Slices), params.Int(picture.SliceCount))
	require.NotEmpty(t, p.Slices)
	require.LessOrEqual(t, len(p.Slices), f.Width*f.Height/256)
	for i, at := range p.Slices {
		require.Equal(t, []byte{0, 0, 1}, p.Data[at:at+3])
		require.True(t, i == 0 && at == 0 || i > 0 && at > p.Slices[i-1])
	}
}

func TestMutatedPackets(t *testing.T) {
	s := newSets(3)
	mutate.Run(t, mutate.Plan{Seeds: hostileSeeds(t), Few: thorough.Of(6000, 1_000_000), Most: 4 << 20, Try: func(m mutate.Mutant) {
		var config []byte
		if m.N%4 == 0 {
			config = avcC(1+m.N/4%4, s.sequence(100), s.picture())
		}
		tryHostile(t, m.Data, config)
	}})
}

func FuzzPackets(f *testing.F) {
	for _, s := range hostileSeeds(f) {
		f.Add(s.Data, []byte(nil))
	}
	s := newSets(2)
	f.Add(sized(2, sized(4, s.slice(idrHeader)), sized(4, s.slice(pictureP(1)))), avcC(4, s.sequence(100), s.picture()))
	f.Fuzz(func(t *testing.T, data, config []byte) {
		if len(config) == 0 {
			config = nil
		}
		tryHostile(t, data, config)
	})
}

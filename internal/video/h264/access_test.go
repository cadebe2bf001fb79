package h264

import (
	"bytes"
	"cmp"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// run is a part of a stream's packets through a parser. The parser gets the parameter sets first, as a container gives them.
type run struct {
	parser *Parser
	stream *videotest.Stream
	holds  map[int]int // the packet that a surface holds
	theirs map[int]int // of the driver, after the packets in ready
	ready  int
}

func newRun(t *testing.T, s *videotest.Stream) *run {
	p := newParser(t, 2)
	_, err := p.Parse(s.Packets[0])
	require.NoError(t, err)
	p.Reset()
	return &run{p, s, map[int]int{}, map[int]int{}, 0}
}

// next parses a packet and returns its picture, with the packets in its references in place of surfaces, and the driver's.
func (r *run) next(t *testing.T, packet int) (got *picture.Picture, ours, theirs picture.Params) {
	t.Helper()
	got, err := r.parser.Parse(r.stream.Packets[packet])
	require.NoError(t, err)
	for ; r.ready <= packet; r.ready++ {
		r.theirs[r.stream.Pictures[r.ready].Params.Int(picture.Surface)] = r.ready
	}
	r.holds[got.Params.Int(picture.Surface)] = packet
	return got, sorted(normal(got.Params, r.holds)), sorted(normal(r.stream.Pictures[packet].Params, r.theirs))
}

// reference is an entry with a packet in place of the surface, and an order count relative to another.
type reference struct{ packet, num, long, order int }

// since returns the references in normal parameters to packets from first on.
func since(p *picture.Params, first, order int) (list []reference) {
	for at := picture.Codec + entries; at < picture.Codec+weights4x4; at += entrySize {
		if packet := p.Int(at + entrySurface); packet >= first {
			list = append(list, reference{packet, p.Int(at + entryNum), p.Int(at + entryLong), p.Int(at+entryCounts) - order})
		}
	}
	return list
}

func idr(packet []byte) (found bool) {
	for nal := range bitstream.Units(packet, 0) {
		found = found || nal[0]&31 == nalIDR
	}
	return found
}

func orderOf(p *picture.Params) int { return p.Int(picture.Codec + fieldOrderCounts) }

// supported are the streams that the parser reads.
func supported(t *testing.T) map[string]*videotest.Stream {
	streams := videotest.Streams(t, "h264_")
	for name := range unsupportedStreams {
		delete(streams, name)
	}
	return streams
}

// TestDecodablePicturesHaveTheirReferences leaves out one packet, or all before one.
func TestDecodablePicturesHaveTheirReferences(t *testing.T) {
	for name, stream := range supported(t) {
		for out := range stream.Packets {
			for _, first := range []int{0, out + 1} {
				r, intact := newRun(t, stream), first == 0
				recovered, order := none, 0 // the packet at the recovery point, and its order count less the driver's
				for i := first; i < len(stream.Packets); i++ {
					if i == out {
						intact = intact && stream.Pictures[i].Params.Int(picture.IsReference) == 0
						continue
					}
					if idr(stream.Packets[i]) {
						intact, recovered = true, none
					}
					got, ours, theirs := r.next(t, i)
					where := fmt.Sprint(name, " without ", out, " from ", first, ": packet ", i)
					switch {
					case intact:
						require.False(t, got.Undecodable, where)
						require.Equal(t, []int(nil), differences(ours, theirs), where)
					case !got.Undecodable:
						if recovered == none {
							recovered, order = i, orderOf(&ours)-orderOf(&theirs)
							require.Regexp(t, "opengop|intrarefresh", name, where)
						}
						require.Equal(t, since(&theirs, recovered, orderOf(&theirs)), since(&ours, recovered, orderOf(&ours)), where)
						require.Equal(t, order, orderOf(&ours)-orderOf(&theirs), where)
					}
				}
			}
		}
	}
}

// undecodable returns the packets from first on with pictures that are not decodable.
func undecodable(t *testing.T, s *videotest.Stream, first int) (list []int) {
	r := newRun(t, s)
	for i := first; i < len(s.Packets); i++ {
		if p, _, _ := r.next(t, i); p.Undecodable {
			list = append(list, i)
		}
	}
	return list
}

func TestLeadingPicturesAreUndecodableAfterASeek(t *testing.T) {
	s := videotest.Streams(t, "h264_opengop")
	for _, c := range []struct {
		name  string
		first int
		want  []int
	}{
		{"h264_opengop", 0, nil},
		{"h264_opengop", 9, []int{10}},
		{"h264_opengop", 19, []int{20}},
		{"h264_opengop", 29, []int{30}},
		{"h264_opengop", 7, []int{7, 8, 10}},
		{"h264_opengop", 30, []int{30, 31, 32, 33, 34, 35, 36, 37, 38, 39}},
	} {
		assert.Equal(t, c.want, undecodable(t, s[c.name], c.first), "%s from %d", c.name, c.first)
	}
}

func TestIntraRefreshIsDecodableFromItsRecoveryPoint(t *testing.T) {
	s := videotest.Streams(t, "h264_intrarefresh")["h264_intrarefresh"]
	assert.Equal(t, []int{10, 11, 12, 13, 14, 15, 16, 17, 18}, undecodable(t, s, 10))
	assert.Equal(t, []int{19}, undecodable(t, s, 11)[8:9])
	assert.Equal(t, 29, 1+slices.Max(undecodable(t, s, 11)))
}

// TestDecodablePicturesAreThoseOfTheWholeStream compares the frames that ffmpeg decodes after a seek.
func TestDecodablePicturesAreThoseOfTheWholeStream(t *testing.T) {
	for name, firsts := range map[string][]int{"h264_opengop": {19, 9, 29}, "h264_opengop_pyr": {21, 9, 34}, "h264_intrarefresh": {20, 10}} {
		s := videotest.Streams(t, name)[name]
		whole := frames(t, s, 0)
		for _, first := range firsts[:thorough.Of(1, len(firsts))] {
			part, compared := frames(t, s, first), 0
			r := newRun(t, s)
			for i := first; i < len(s.Packets); i++ {
				if p, _, _ := r.next(t, i); !p.Undecodable {
					compared++
					require.True(t, bytes.Equal(whole[i], part[i]), "%s from %d: packet %d", name, first, i)
				}
			}
			assert.GreaterOrEqual(t, compared, 4, "the last key picture has five after it, two of which lead it")
		}
	}
}

// frames returns the frames that ffmpeg decodes from packets from first on, by packet.
func frames(t *testing.T, s *videotest.Stream, first int) map[int][]byte {
	t.Helper()
	var in, out bytes.Buffer
	for nal := range bitstream.Units(s.Packets[0], 0) {
		if kind := nal[0] & 31; kind == nalSPS || kind == nalPPS {
			in.Write(append([]byte{0, 0, 1}, nal...))
		}
	}
	var shown []int
	for i := first; i < len(s.Packets); i++ {
		in.Write(s.Packets[i])
		shown = append(shown, i)
	}
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	ffmpeg := exec.Command(program, "-v", "error", "-flags", "+output_corrupt", "-flags2", "+showall", "-threads", "1", "-f", "h264", "-i", "-",
		"-vsync", "passthrough", "-f", "rawvideo", "-")
	ffmpeg.Stdin, ffmpeg.Stdout = &in, &out
	require.NoError(t, ffmpeg.Run())
	require.Zero(t, out.Len()%len(shown))
	size := out.Len() / len(shown)
	slices.SortFunc(shown, func(a, b int) int {
		return cmp.Compare(orderOf(&s.Pictures[a].Params), orderOf(&s.Pictures[b].Params))
	})
	list := map[int][]byte{}
	for i, packet := range shown {
		list[packet] = out.Bytes()[i*size : (i+1)*size]
	}
	return list
}

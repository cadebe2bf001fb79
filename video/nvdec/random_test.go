package nvdec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/tensor"
)

// isKey reports whether a container marks a packet as a key frame: IDR pictures, random access pictures in HEVC, and recovery points in
// H.264.
func isKey(s *videotest.Stream, packet int) bool {
	for unit := range bitstream.Units(s.Packets[packet], 0) {
		kind := unit[0] & 31
		if s.Codec() == "hevc" {
			kind = unit[0] >> 1 & 63
			if kind >= 16 && kind <= 21 {
				return true
			}
			continue
		}
		if kind == 5 || kind == 6 && len(unit) > 1 && unit[1] == 6 {
			return true
		}
	}
	return false
}

// track returns the stream's packets from first on in a file.
func track(t testing.TB, s *videotest.Stream, first int) *mp4.Track {
	t.Helper()
	config, packets := boxed(s)
	packets = packets[first:]
	n := uint32(len(packets))
	kind, box := "avc1", "avcC"
	if s.Codec() == "hevc" {
		kind, box = "hvc1", "hvcC"
	}
	rank := make([]uint32, n) // of each packet
	for i, packet := range slices.DeleteFunc(slices.Clone(s.Order), func(packet int) bool { return packet < first }) {
		rank[packet-first] = uint32(i)
	}
	sizes, later, keys := []uint32{0, 0, n}, []uint32{0, n}, []uint32{0, 0}
	for i, packet := range packets {
		sizes, later = append(sizes, uint32(len(packet))), append(later, 1, rank[i]+n-uint32(i))
		if isKey(s, first+i) {
			keys = append(keys, uint32(i+1))
		}
	}
	keys[1] = uint32(len(keys) - 2)
	atom, words := video.Atom, video.Words
	fields := slices.Concat(words(0, 1), make([]byte, 16), []byte{0, 176, 0, 144}, make([]byte, 50))
	const media = 16 // where the first packet begins
	stbl := atom("stbl", atom("stsd", words(0, 1), atom(kind, fields, atom(box, config))), atom("stts", words(0, 1, n, 1)), atom("ctts", words(later...)),
		atom("stss", words(keys...)), atom("stsc", words(0, 1, 1, n, 1)), atom("stsz", words(sizes...)), atom("stco", words(0, 1, media+8)))
	minf := atom("minf", atom("dinf", atom("dref", words(0, 1), atom("url ", words(1)))), stbl)
	mdia := atom("mdia", atom("mdhd", words(0, 0, 0, 30, n, 0)), atom("hdlr", words(0, 0), []byte("vide"), make([]byte, 13)), minf)
	moov := atom("moov", atom("mvhd", words(0, 0, 0, 30, n), make([]byte, 80)), atom("trak", mdia))
	file := slices.Concat(atom("ftyp", []byte("isom"), words(0)), atom("mdat", packets...), moov)
	f, err := mp4.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	v, err := f.Video()
	require.NoError(t, err)
	require.Equal(t, int(n), v.Len())
	require.Equal(t, s.Codec(), v.Codec)
	return v
}

// pixelsOf returns a hash of a frame.
func pixelsOf(frame *tensor.Tensor) (uint64, error) {
	b, err := tensor.Data[uint8](frame)
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64(), err
}

// sequential decodes a stream's packets from first on, and returns the frames' hashes in display order, 0 where there is none.
func sequential(t testing.TB, p *pool, s *videotest.Stream, first int) (list []uint64) {
	t.Helper()
	d, frames := p.open(t, s.Codec(), ""), map[int64]uint64{}
	show := func(number int64, p *video.Planes, err error) error {
		if err != nil {
			assert.ErrorIs(t, err, video.ErrUndecodable)
			return nil
		}
		frame, err := p.RGB()
		if err == nil {
			frames[number], err = pixelsOf(frame)
		}
		return err
	}
	require.NoError(t, d.Decode(seek(s, first), int64(first), show))
	for i := first + 1; i < len(s.Packets); i++ {
		require.NoError(t, d.Decode(s.Packets[i], int64(i), show))
	}
	require.NoError(t, d.Flush(show))
	require.NoError(t, d.Close())
	for _, packet := range s.Order {
		if packet >= first {
			list = append(list, frames[int64(packet)])
		}
	}
	return list
}

// random is a stream for random requests, from a packet on.
type random struct {
	name       string
	first      int
	incomplete bool // some frames cannot be decoded
}

// requestFrames decodes frames from to to-1, and compares them with those from a sequential decoding.
func requestFrames(ctx context.Context, v *mp4.Track, want []uint64, from, to int) error {
	i := from
	for frame, err := range v.DecodeFrames(ctx, from, to) {
		if err != nil {
			if want[i] == 0 && errors.Is(err, video.ErrUndecodable) && errors.Is(err, dataset.ErrCorrupt) {
				return nil
			}
			return err
		}
		got, err := pixelsOf(frame)
		if err != nil {
			return err
		}
		if got != want[i] {
			return errors.New("another frame")
		}
		i++
	}
	if i != to {
		return errors.New("a frame is missing")
	}
	return nil
}

// check makes requests in several goroutines.
func (r random) check(t *testing.T, p *pool, requests, routines int) {
	t.Helper()
	s := golden(t, r.name)
	v, want := track(t, s, r.first), sequential(t, p, s, r.first)
	require.Equal(t, r.incomplete, slices.Contains(want, 0), "frames that cannot be decoded")
	require.Greater(t, len(slices.Compact(slices.Sorted(slices.Values(want)))), len(want)/2, "frames differ")
	var all sync.WaitGroup
	for routine := range routines {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(routine), 11))
			for range requests / routines {
				from := rng.IntN(len(want))
				to := min(from+1, len(want))
				if rng.IntN(4) == 0 {
					to = min(from+2+rng.IntN(4), len(want))
				}
				if err := requestFrames(t.Context(), v, want, from, to); err != nil {
					t.Errorf("%s from packet %d: frames %d to %d: %v", r.name, r.first, from, to, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// randoms have B-pyramids, open groups, leading pictures and intra refresh. Some begin at a key frame with leading pictures, or between key
// frames, so that the first frames lack their references.
var randoms = []random{
	{"h264_opengop_pyr", 0, false}, {"h264_g2b", 0, false}, {"hevc_opengop", 0, false}, {"hevc_main10_open", 0, false}, {"hevc_radl", 0, false},
	{"h264_opengop_pyr", 9, true}, {"hevc_opengop", 11, true}, {"h264_opengop", 1, true}, {"hevc_opengop", 1, true}, {"hevc_main10_open", 9, true},
	{"h264_pyr_normal", 0, false}, {"h264_intrarefresh", 0, false}, {"h264_crop_66x50", 0, false}, {"hevc_closedgop", 0, false},
	{"hevc_pyramid", 0, false}, {"hevc_repeat", 0, false}, {"hevc_intrarefresh", 0, false},
}

// Random requests for a file's frames give the frames from a sequential decoding.
func TestRandomFrames(t *testing.T) {
	for _, r := range randoms {
		b := newBench(t, nil)
		current = b.pool
		r.check(t, b.pool, thorough.Of(10, 10000), 2)
		assert.LessOrEqual(t, b.fake.Created(), 2, "decoders are used again")
	}
}

func TestRandomFramesOnAGPU(t *testing.T) {
	p := gpuPool(t)
	current = p
	for _, r := range randoms[:7] {
		t.Run(fmt.Sprint(r.name, " from ", r.first), func(t *testing.T) { r.check(t, p, 10000, 20) })
	}
}

package videotest

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/video/picture"
)

//go:embed testdata/streams.tar.zst
var golden []byte

//go:embed testdata/plain.tar.zst
var plain []byte

// Stream is an encoded video.
type Stream struct {
	Name     string   // such as h264_g2
	Packets  [][]byte // annex B, in decoding order
	Order    []int    // the packets in the order of display
	Formats  [][80]byte
	Pictures []Picture
	Shown    []Shown
}

// Codec returns the stream's codec, h264 or hevc.
func (s *Stream) Codec() string { return s.Name[:4] }

// Picture is a call that decodes a picture.
type Picture struct {
	Packet int
	Params picture.Params
	Slices []uint32 // offsets
	Hash   uint64   // FNV-1a of the data
}

// Shown is a call that shows a picture. The driver gives the packets' numbers in increasing order, so that Packet is another one's if
// pictures are reordered. After is the index of the last picture that was decoded before.
type Shown struct{ Surface, Packet, After int }

var (
	goldenStreams = sync.OnceValues(func() (map[string]*Stream, error) { return streams(golden) })
	plainStreams  = sync.OnceValues(func() (map[string]*Stream, error) { return streams(plain) })
)

func streams(archive []byte) (map[string]*Stream, error) {
	z, err := zstd.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	list := map[string]*Stream{}
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if err == io.EOF {
			for _, s := range list {
				s.display()
			}
			return list, nil
		}
		var b []byte
		if err == nil {
			b, err = io.ReadAll(files)
		}
		if err != nil {
			return nil, err
		}
		name, kind, _ := strings.Cut(h.Name, ".")
		s := list[name]
		if s == nil {
			s = &Stream{Name: name}
			list[name] = s
		}
		switch kind {
		case "pkts":
			s.packets(b)
		case "order":
			for ; len(b) > 0; b = b[4:] {
				s.Order = append(s.Order, int(binary.LittleEndian.Uint32(b)))
			}
		default:
			s.calls(b)
		}
	}
}

// Streams returns the streams whose names begin with a prefix, such as "h264_", by name.
func Streams(t testing.TB, prefix string) map[string]*Stream {
	t.Helper()
	all, err := goldenStreams()
	require.NoError(t, err)
	some := map[string]*Stream{}
	for name, s := range all {
		if strings.HasPrefix(name, prefix) {
			some[name] = s
		}
	}
	require.NotEmpty(t, some)
	return some
}

// Plain returns the streams without picture parameters, by name: those with tiles, dependent slices and wavefronts are by
// kvazaar 2.3.2, h264_cropleft by x264, and h264_front0, h264_front1 and h264_studio are the H.264 videos in two LeRobot datasets.
func Plain(t testing.TB) map[string]*Stream {
	t.Helper()
	all, err := plainStreams()
	require.NoError(t, err)
	return all
}

// display sets the order from the calls that show pictures, unless it is known.
func (s *Stream) display() {
	holds, next := map[int]int{}, 0
	for _, shown := range s.Shown {
		for ; next <= shown.After; next++ {
			holds[s.Pictures[next].Params.Int(picture.Surface)] = next
		}
		s.Order = append(s.Order, holds[shown.Surface])
	}
}

func (s *Stream) packets(b []byte) {
	for len(b) > 0 {
		n := 4 + binary.LittleEndian.Uint32(b)
		s.Packets, b = append(s.Packets, b[4:n:n]), b[n:]
	}
}

func (s *Stream) calls(b []byte) {
	next := func(n int) []byte {
		part := b[:n]
		b = b[n:]
		return part
	}
	number := func() int { return int(int32(binary.LittleEndian.Uint32(next(4)))) }
	for len(b) > 0 {
		switch number() {
		case 0x464d5431:
			s.Formats = append(s.Formats, [80]byte(next(80)))
		case 0x31434950:
			p := Picture{Packet: number(), Params: picture.Params(next(picture.Size))}
			for range p.Params.Int(picture.SliceCount) {
				p.Slices = append(p.Slices, uint32(number()))
			}
			p.Hash = binary.LittleEndian.Uint64(next(8))
			s.Pictures = append(s.Pictures, p)
		default:
			s.Shown = append(s.Shown, Shown{number(), number(), len(s.Pictures) - 1})
			next(4)
		}
	}
}

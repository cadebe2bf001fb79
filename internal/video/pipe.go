package video

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// ffmpeg's input file has 25 ticks per second. A frame's number is its time, and also a whole number of milliseconds.
const (
	tickRate   = 25
	tickMillis = 1000 / tickRate
)

// Atom returns a box in an MP4 file.
func Atom(kind string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), []byte(kind), body)
}

// Words returns numbers as 4 bytes each.
func Words(list ...uint32) []byte {
	out, _ := binary.Append(nil, binary.BigEndian, list) // numbers never fail
	return out
}

// header returns the part of an mp4 file before the packets' bytes. Packets are stored in decoding order. Packet i is shown at its rank
// plus shift, which keeps offsets positive.
func (j *Job) header() (head []byte, shift int32) {
	n := uint32(len(j.Packets))
	for i, p := range j.Packets {
		shift = max(shift, int32(i)-p.Rank)
	}
	sizes, later, keys := []uint32{0, 0, n}, []uint32{0, n}, []uint32{0, 0}
	total := uint64(0)
	for i, p := range j.Packets {
		sizes = append(sizes, p.Size)
		later = append(later, 1, uint32(p.Rank+shift-int32(i)))
		if p.Key {
			keys = append(keys, uint32(i+1))
		}
		total += uint64(p.Size)
	}
	keys[1] = uint32(len(keys) - 2)
	stsd := slices.Clone(j.Entry)
	binary.BigEndian.PutUint32(stsd, uint32(len(stsd)))
	binary.BigEndian.PutUint16(stsd[14:], 1) // the bytes are in this file
	unity := []uint32{1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30}
	width, height := uint32(binary.BigEndian.Uint16(stsd[32:]))<<16, uint32(binary.BigEndian.Uint16(stsd[34:]))<<16
	build := func(offset uint64) []byte {
		stbl := Atom("stbl",
			Atom("stsd", Words(0, 1), stsd), Atom("stts", Words(0, 1, n, 1)), Atom("ctts", Words(later...)), Atom("stss", Words(keys...)),
			Atom("stsc", Words(0, 1, 1, n, 1)), Atom("stsz", Words(sizes...)), Atom("co64", Words(0, 1, uint32(offset>>32), uint32(offset))))
		minf := Atom("minf", Atom("vmhd", Words(1, 0, 0)), Atom("dinf", Atom("dref", Words(0, 1), Atom("url ", Words(1)))), stbl)
		mdia := Atom("mdia", Atom("mdhd", Words(0, 0, 0, tickRate, n, 0x55c4<<16)), Atom("hdlr", Words(0, 0), []byte("vide"), Words(0, 0, 0), []byte{0}), minf)
		tkhd := Atom("tkhd", Words(3, 0, 0, 1, 0, n, 0, 0, 0, 0), Words(unity...), Words(width, height))
		mvhd := Atom("mvhd", Words(0, 0, 0, tickRate, n, 1<<16, 1<<24, 0, 0), Words(unity...), Words(0, 0, 0, 0, 0, 0, 2))
		moov := Atom("moov", mvhd, Atom("trak", tkhd, mdia))
		mdat := binary.BigEndian.AppendUint64(append(Words(1), "mdat"...), 16+total)
		return slices.Concat(Atom("ftyp", []byte("isom"), Words(0x200), []byte("isom")), moov, mdat)
	}
	return build(uint64(len(build(0)))), shift
}

// formats are the pixel formats that ffmpeg writes. It converts a picture only if it has none of them.
const formats = "gray|yuv420p|yuvj420p|yuv422p|yuvj422p|yuv444p|yuvj444p|gbrp|" +
	"gray10|yuv420p10|yuv422p10|yuv444p10|gbrp10|gray12|yuv420p12|yuv422p12|yuv444p12|gbrp12"

// pictures reads Matroska in the form that ffmpeg writes for one stream of raw pictures.
type pictures struct {
	r       *bufio.Reader
	cluster int64  // the current cluster's time in ms
	bits    int    // of a pixel in all planes together
	picture Planes // the last one
	memory  []byte // its planes
}

// The Matroska elements that matter here. The reader enters those in the first two lines and skips all others.
const (
	segment, info, cluster, tracks                            = 0x18538067, 0x1549a966, 0x1f43b675, 0x1654ae6b
	trackEntry, video, colour, blockGroup                     = 0xae, 0xe0, 0x55b0, 0xa0
	muxingApp, codecPrivate, colourSpace, matrix, colourRange = 0x4d80, 0x63a2, 0x2eb524, 0x55b1, 0x55b9
	timecode, pixelWidth, pixelHeight, simpleBlock, block     = 0xe7, 0xb0, 0xba, 0xa3, 0xa1
)

var errNoColours = errors.New("this version of ffmpeg does not report a picture's colours")

// next returns the next picture and its time in milliseconds, or io.EOF. The picture's memory is valid until the next call.
func (p *pictures) next() (ms int64, picture *Planes, err error) {
	for {
		id, err := p.number(true)
		if err != nil {
			return 0, nil, err
		}
		size, err := p.number(false)
		if err != nil {
			return 0, nil, unexpected(err)
		}
		switch id {
		case segment, info, cluster, tracks, trackEntry, video, colour, blockGroup:
		case timecode, pixelWidth, pixelHeight, muxingApp, codecPrivate, colourSpace, matrix, colourRange:
			if size > 255 {
				return 0, nil, errNotMatroska
			}
			b := make([]byte, size)
			if _, err := io.ReadFull(p.r, b); err != nil {
				return 0, nil, unexpected(err)
			}
			if err := p.set(id, b); err != nil {
				return 0, nil, err
			}
		case simpleBlock, block:
			return p.block(size)
		default:
			if _, err := io.CopyN(io.Discard, p.r, int64(size)); err != nil {
				return 0, nil, unexpected(err)
			}
		}
	}
}

// set stores an element's value.
func (p *pictures) set(id uint64, b []byte) error {
	switch id {
	case muxingApp:
		major, minor := 0, 0
		n, _ := fmt.Sscanf(string(b), "Lavf%d.%d", &major, &minor)
		if n == 2 && slices.Compare([]int{major, minor}, []int{58, 76}) < 0 && p.picture.Matrix != identity {
			return errNoColours
		}
		return nil
	case colourSpace: // zeros if there is a codecPrivate
		p.bits = map[string]int{"Y800": 8, "I420": 12, "Y42B": 16}[string(b)]
		return nil
	case codecPrivate: // a BITMAPINFOHEADER
		if len(b) < 16 {
			return errNotMatroska
		}
		p.bits = int(binary.LittleEndian.Uint16(b[14:]))
		return nil
	}
	if len(b) > 7 {
		return errNotMatroska
	}
	v := int64(0)
	for _, x := range b {
		v = v<<8 | int64(x)
	}
	switch id {
	case timecode:
		p.cluster = v
	case pixelWidth:
		p.picture.Width = int(v)
	case pixelHeight:
		p.picture.Height = int(v)
	case matrix:
		p.picture.Matrix = uint8(v)
	case colourRange:
		p.picture.FullRange = v == 2
	}
	return nil
}

var errNotMatroska = errors.New("not the Matroska that ffmpeg writes")

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// number reads an element's ID (marked, with its length bit) or a size (without it).
func (p *pictures) number(marked bool) (uint64, error) {
	first, err := p.r.ReadByte()
	if err != nil {
		return 0, err
	}
	n := bits.LeadingZeros8(first) // bytes that follow
	if n == 8 {
		return 0, errNotMatroska
	}
	v := uint64(first)
	if !marked {
		v &^= 1 << (7 - n)
	}
	for range n {
		b, err := p.r.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		v = v<<8 | uint64(b)
	}
	return v & (1<<62 - 1), nil
}

// block reads a picture: the track number, 2 bytes of time relative to the cluster, a flag byte, and the planes.
func (p *pictures) block(size uint64) (ms int64, picture *Planes, err error) {
	var head [4]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return 0, nil, unexpected(err)
	}
	picture = &p.picture
	w, h := picture.Width, picture.Height
	var ends [3]int
	known := w > 0 && h > 0 && w <= MaxPixels && h <= MaxPixels && w*h <= MaxPixels
	if known {
		ends, known = p.format(size - uint64(len(head)))
	}
	if !known {
		return 0, nil, fmt.Errorf("a picture of %d bytes in a format of %d bits a pixel, with %dx%d pixels", size-4, p.bits, w, h)
	}
	if ends[2] != len(p.memory) {
		t, err := tensor.New(tensor.U8, ends[2])
		if err != nil {
			return 0, nil, err
		}
		if p.memory, err = tensor.Data[uint8](t); err != nil {
			return 0, nil, err
		}
	}
	picture.Data = [3][]byte{p.memory[:ends[0]], p.memory[ends[0]:ends[1]], p.memory[ends[1]:]}
	_, err = io.ReadFull(p.r, p.memory)
	return p.cluster + int64(int16(binary.BigEndian.Uint16(head[1:]))), picture, unexpected(err)
}

// format sets the picture's format, and returns the ends of its planes. Only one of the formats has the bits of a pixel and the bytes of
// the picture.
func (p *pictures) format(size uint64) (ends [3]int, known bool) {
	q := &p.picture
	for _, q.Bits = range []int{8, 10, 12} {
		for q.Layout = Gray; q.Layout <= YUV444; q.Layout++ {
			total := 0
			for i := range ends {
				w, h := q.Size(i)
				q.Stride[i] = w * ((q.Bits + 7) / 8)
				total += q.Stride[i] * h
				ends[i] = total
			}
			if uint64(total) == size && 2*p.bits == q.Bits*[...]int{Gray: 2, YUV420: 3, YUV422: 4, YUV444: 6}[q.Layout] {
				return ends, true
			}
		}
	}
	return ends, false
}

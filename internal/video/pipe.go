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

// pictures reads Matroska in the form that ffmpeg writes for one stream of raw pictures.
type pictures struct {
	r             *bufio.Reader
	width, height int
	cluster       int64 // the current cluster's time in ms
}

// The Matroska elements that matter here. The reader enters those in the first line and skips all others.
const (
	segment, cluster, tracks, trackEntry, video, blockGroup = 0x18538067, 0x1f43b675, 0x1654ae6b, 0xae, 0xe0, 0xa0
	timecode, pixelWidth, pixelHeight, simpleBlock, block   = 0xe7, 0xb0, 0xba, 0xa3, 0xa1
)

// next returns the next picture and its time in milliseconds, or io.EOF.
func (p *pictures) next() (ms int64, picture []byte, err error) {
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
		case segment, cluster, tracks, trackEntry, video, blockGroup:
		case timecode, pixelWidth, pixelHeight:
			v, err := p.unsigned(size)
			if err != nil {
				return 0, nil, err
			}
			switch id {
			case timecode:
				p.cluster = v
			case pixelWidth:
				p.width = int(v)
			default:
				p.height = int(v)
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

func (p *pictures) unsigned(size uint64) (v int64, err error) {
	if size > 7 {
		return 0, errNotMatroska
	}
	for range size {
		b, err := p.r.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		v = v<<8 | int64(b)
	}
	return v, nil
}

// block reads a picture: the track number, 2 bytes of time relative to the cluster, a flag byte, and the pixels.
func (p *pictures) block(size uint64) (ms int64, picture []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return 0, nil, unexpected(err)
	}
	pixels := int64(p.width) * int64(p.height)
	if p.width <= 0 || p.height <= 0 || p.width > maxPixels || p.height > maxPixels || pixels > maxPixels || size != uint64(3*pixels+4) {
		return 0, nil, fmt.Errorf("a picture of %d bytes, want 3 for each of %dx%d pixels", size-4, p.width, p.height)
	}
	t, err := tensor.New(tensor.U8, int(3*pixels))
	if err != nil {
		return 0, nil, err
	}
	if picture, err = tensor.Data[uint8](t); err == nil {
		_, err = io.ReadFull(p.r, picture)
	}
	return p.cluster + int64(int16(binary.BigEndian.Uint16(head[1:]))), picture, unexpected(err)
}

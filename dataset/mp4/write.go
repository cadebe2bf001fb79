package mp4

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
)

// Boxes, as in the file that ffmpeg reads.
var atom, words = video.Atom, video.Words

// Writer writes a file with one video track by copying encoded frames from other tracks; nothing is decoded. Frame i in the new
// file is shown at i/rate seconds, independent of its original time, so joined files do not drift. A Writer is for one goroutine at
// a time.
//
//	w, err := mp4.NewWriter(out, 30)
//	first, err := w.Append(ctx, track, 0, track.Len()) // for each
//	err = w.Close()
//
// Memory grows by 17 bytes per frame. Equal frames give equal bytes.
type Writer struct {
	out    io.Writer
	rate   float64
	scale  uint32 // ticks a second
	size   int64
	entry  []byte // the sample entry; nil before the first frame
	of     description
	sizes  []uint32
	ranks  []int32 // of each sample, among the pictures as they are shown
	keys   []uint32
	chunks []placed
	err    error
}

// placed is a run of adjacent samples, from a byte offset on.
type placed struct {
	at int64
	n  uint32
}

// description contains the properties that joined tracks must share.
type description struct {
	codec         string
	width, height int
	boxes         []byte // the boxes in the sample entry, except bit rates
}

// The rates that a Writer takes: so that a frame's time fits into a table's 32 bits.
const minWriteRate, maxWriteRate = 1e-3, 1e6

// NewWriter begins a file with rate frames a second, and writes it to out. If rate is below 0.001 or above 1e6, the error is a
// *dataset.OptionError.
func NewWriter(out io.Writer, rate float64) (*Writer, error) {
	if !(rate >= minWriteRate && rate <= maxWriteRate) {
		return nil, &dataset.OptionError{Arg: "rate", Got: strconv.FormatFloat(rate, 'g', -1, 64), Want: "frames a second from 0.001 to 1e6"}
	}
	w := &Writer{out: out, rate: rate, scale: 1e6}
	if fine := rate * 512; fine == math.Trunc(fine) {
		w.scale = uint32(fine)
	}
	w.write(atom("ftyp", []byte("isom"), words(0x200), []byte("isomiso2mp41")))
	return w, w.err
}

// Len returns the number of frames in the file, with the frames that others depend on.
func (w *Writer) Len() int { return len(w.sizes) }

// Size returns the number of written bytes.
func (w *Writer) Size() int64 { return w.size }

// Fits reports whether frames from a track can follow the written frames, which requires equal codec, size and decoder
// configuration. Every track fits an empty file.
func (w *Writer) Fits(t *Track) bool {
	of := describe(t)
	return w.entry == nil || of.codec == w.of.codec && of.width == w.of.width && of.height == w.of.height && bytes.Equal(of.boxes, w.of.boxes)
}

// Append writes the frames from to to-1 of a track, and returns the number of the first of them in the new file. If that frame is
// no key frame, the frames since the last key frame are written before it. If the range exceeds the track, the error is a
// *dataset.RangeError. If the track does not fit, if required frames are missing, or if the edit list hides frames in between, it
// is a *dataset.FormatError and the file is unchanged. After a failed write every call returns its error.
func (w *Writer) Append(ctx context.Context, t *Track, from, to int) (first int, err error) {
	switch {
	case w.err != nil:
		return 0, w.err
	case from < 0 || from >= to:
		return 0, &dataset.RangeError{What: "frame", Got: from, Len: t.Len()}
	case to > t.Len():
		return 0, &dataset.RangeError{What: "frame", Got: to - 1, Len: t.Len()}
	case !w.Fits(t):
		return 0, t.file.fail(-1, dataset.ErrUnsupported, "join videos", describe(t).String(), w.of.String()+", as in the first, and its decoder's configuration")
	}
	r := t.plan(video.Numbers(from, to))
	for i, s := range r.samples {
		if s.size == 0 {
			return 0, t.lostError(r.index[i])
		}
	}
	for i, rank := range r.want {
		if rank < 0 || rank != r.want[0]+i {
			return 0, t.file.fail(-1, dataset.ErrUnsupported, "cut a video", fmt.Sprintf("frame %d behind one that the edit list hides", from+i), "frames that follow each other")
		}
	}
	total := int64(0)
	for _, s := range r.samples {
		total += int64(s.size)
	}
	if len(w.sizes)+len(r.samples) > math.MaxInt32 {
		return 0, t.file.fail(-1, dataset.ErrTooLarge, "join videos", "more frames than 31 bits count", "fewer in a file")
	}
	if w.entry == nil {
		w.entry, w.of = plainEntry(t), describe(t)
	}
	first = len(w.sizes) + r.want[0]
	w.write(binary.BigEndian.AppendUint64(append(words(1), "mdat"...), uint64(16+total)))
	w.chunks = append(w.chunks, placed{w.size, uint32(len(r.samples))})
	base := int32(len(w.sizes))
	for i, s := range r.samples {
		if err := w.copy(ctx, t, s); err != nil {
			return 0, err
		}
		w.sizes, w.ranks = append(w.sizes, s.size), append(w.ranks, base+r.rank[i])
		if s.key {
			w.keys = append(w.keys, uint32(len(w.sizes)))
		}
	}
	return first, nil
}

// IsClosed reports whether the frames from to to-1 can be decoded without other frames, so that a Writer's file with them begins with
// the first and ends with the last. If the range is empty or exceeds the track, it returns false.
func (t *Track) IsClosed(from, to int) bool {
	if from < 0 || from >= to || to > t.Len() {
		return false
	}
	r := t.plan(video.Numbers(from, to))
	return len(r.samples) == to-from && r.want[0] == 0
}

// copy writes a sample's bytes.
func (w *Writer) copy(ctx context.Context, t *Track, s sample) error {
	if w.err = cmp.Or(w.err, ctx.Err()); w.err != nil {
		return w.err
	}
	b, err := t.file.read("frame", s.at, int64(s.size))
	if err != nil {
		w.err = err // half of it is written
		return err
	}
	w.write(b)
	return w.err
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.out.Write(b)
	w.size, w.err = w.size+int64(n), err
}

// tick is the time of a frame in the file's ticks.
func (w *Writer) tick(frame int) int64 {
	return int64(math.Round(float64(frame) * float64(w.scale) / w.rate))
}

// Close writes the tables that complete the file, and does not close the output. If there are no frames, the error is
// dataset.ErrMissing.
func (w *Writer) Close() error {
	if w.err == nil && len(w.sizes) == 0 {
		w.err = fmt.Errorf("mp4: %w: got no frames, want at least one", dataset.ErrMissing)
	}
	if w.err != nil {
		return w.err
	}
	n := len(w.sizes)
	late := int64(0) // how much later than it is decoded the first frame is shown, so that no frame is shown before it is decoded
	for i, rank := range w.ranks {
		late = max(late, w.tick(i)-w.tick(int(rank)))
	}
	end := w.tick(n)
	steps := runs(n, func(i int) uint32 { return uint32(w.tick(i+1) - w.tick(i)) })
	later := runs(n, func(i int) uint32 { return uint32(w.tick(int(w.ranks[i])) + late - w.tick(i)) })
	stbl := [][]byte{atom("stsd", words(0, 1), w.entry), atom("stts", words(0, uint32(len(steps)/2)), words(steps...))}
	if late > 0 {
		stbl = append(stbl, atom("ctts", words(0, uint32(len(later)/2)), words(later...)))
	}
	if len(w.keys) < n {
		stbl = append(stbl, atom("stss", words(0, uint32(len(w.keys))), words(w.keys...)))
	}
	var lengths []uint32
	var places []byte
	for i, c := range w.chunks {
		if i == 0 || c.n != w.chunks[i-1].n {
			lengths = append(lengths, uint32(i+1), c.n, 1)
		}
		places = binary.BigEndian.AppendUint64(places, uint64(c.at))
	}
	stbl = append(stbl, atom("stsc", words(0, uint32(len(lengths)/3)), words(lengths...)), atom("stsz", words(0, 0, uint32(n)), words(w.sizes...)),
		atom("co64", words(0, uint32(len(w.chunks))), places))
	w.write(w.moov(end, late, slices.Concat(stbl...)))
	return w.err
}

// moov returns the box that describes the file: end is its length in ticks, late the media tick at which it begins.
func (w *Writer) moov(end, late int64, tables []byte) []byte {
	long := func(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
	unity := words(1<<16, 0, 0, 0, 1<<16, 0, 0, 0, 1<<30)
	minf := atom("minf", atom("vmhd", words(1, 0, 0)), atom("dinf", atom("dref", words(0, 1), atom("url ", words(1)))), atom("stbl", tables))
	hdlr := atom("hdlr", words(0, 0), []byte("vide"), words(0, 0, 0), []byte("video\x00"))
	mdia := atom("mdia", atom("mdhd", words(1<<24), long(0), long(0), words(w.scale), long(end), words(0x55c4<<16)), hdlr, minf)
	tkhd := atom("tkhd", words(1<<24|3), long(0), long(0), words(1, 0), long(end), words(0, 0, 0, 0), unity, words(uint32(w.of.width)<<16, uint32(w.of.height)<<16))
	edts := atom("edts", atom("elst", words(1<<24, 1), long(end), long(late), words(1<<16)))
	mvhd := atom("mvhd", words(1<<24), long(0), long(0), words(w.scale), long(end), words(1<<16, 1<<24, 0, 0), unity, words(0, 0, 0, 0, 0, 0, 2))
	return atom("moov", mvhd, atom("trak", tkhd, edts, mdia))
}

// runs packs n numbers as mp4's tables do: how often each comes one after the other, and the number.
func runs(n int, at func(i int) uint32) []uint32 {
	var list []uint32
	for i := range n {
		v := at(i)
		if len(list) > 0 && list[len(list)-1] == v {
			list[len(list)-2]++
			continue
		}
		list = append(list, 1, v)
	}
	return list
}

// describe returns a track's description.
func describe(t *Track) description {
	return description{t.Codec, t.Width, t.Height, innerBoxes(t.stsd)}
}

func (d description) String() string {
	return fmt.Sprintf("%s of %dx%d pixels", d.codec, d.width, d.height)
}

// innerBoxes returns the boxes in a sample entry except btrt, which has the bit rate of its file. Broken boxes are dropped.
func innerBoxes(entry []byte) []byte {
	var out []byte
	for b := entry[visualHead:]; len(b) >= 8; {
		size := int64(binary.BigEndian.Uint32(b))
		if size < 8 || size > int64(len(b)) {
			break
		}
		if string(b[4:8]) != "btrt" {
			out = append(out, b[:size]...)
		}
		b = b[size:]
	}
	return out
}

// plainEntry returns a track's sample entry for a file that has its own frames: without bit rates.
func plainEntry(t *Track) []byte {
	entry := atom(string(t.stsd[4:8]), t.stsd[8:visualHead], innerBoxes(t.stsd))
	binary.BigEndian.PutUint16(entry[14:], 1)
	return entry
}

package mp4

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// File is an open mp4 or mov file. Its methods may be called from any goroutine.
type File struct {
	source
	closer io.Closer
	moov   box
	video  func() (*Track, error)
	damage dataset.Notes
}

// Open opens a file. If it has no moov box, which ffmpeg writes last, the error is a *dataset.FormatError.
func Open(path string) (opened *File, err error) {
	defer dataset.WatchedOpen(path, &opened, &err)()
	file, err := storage.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	f := &File{source: source{r: file, size: file.Size(), path: path}, closer: file}
	if err := f.open(); err != nil {
		file.Close()
		return nil, dataset.StandIn(context.Background(), err, path)
	}
	return f, nil
}

// NewReader opens a file with size bytes.
func NewReader(r io.ReaderAt, size int64) (*File, error) {
	f := &File{source: source{r: r, size: size}}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// Close closes the file that Open opened. Close twice is fine; frames can no longer be read.
func (f *File) Close() error {
	return storage.CloseOnce(f.closer)
}

// Bytes returns a new reader of the whole file, as it is stored.
func (f *File) Bytes() *io.SectionReader { return io.NewSectionReader(f.r, 0, f.size) }

// Video returns the first video track; every call returns the same one. If there is none, the error is dataset.ErrNotFound.
func (f *File) Video() (*Track, error) { return f.video() }

func (f *File) open() error {
	f.video = sync.OnceValues(f.firstVideo)
	last := "nothing"
	var broken error
	for b, err := range f.boxes(0, f.size) {
		if err != nil {
			broken = err
			break
		}
		last = fmt.Sprintf("%q of %d bytes at byte %d", b.kind, b.end-b.at, b.at)
		switch {
		case b.kind == "moof":
			return f.fragmented(b)
		case b.kind == "moov" && f.moov.kind == "":
			f.moov = b
		}
		if b.cut {
			last += ", cut off"
			f.damage.AddDamage(dataset.CodeBoxCut, 0, f.fail(b.at, dataset.ErrTruncated, "box", last, "all of it"))
		}
	}
	if f.moov.kind != "" {
		if bad, ok := dataset.AsBroken(broken); ok {
			f.damage.AddDamage(dataset.CodeNoBoxes, f.size-bad.Offset, bad)
		} else if broken != nil {
			return broken
		}
		return nil
	}
	if broken != nil {
		return broken
	}
	return f.fail(f.size, dataset.ErrTruncated, "moov, the list of the frames", "a file without it, whose last box is "+last, "one: writers add it when they close the file")
}

func (f *File) fragmented(b box) error {
	return f.fail(b.at, dataset.ErrUnsupported, "layout", "a fragmented file ("+b.kind+")", "one with all frames listed in moov; ffmpeg -i IN -c copy OUT makes one")
}

// Track is a video track. Its methods may be called from any goroutine; do not write to its fields. Time and Key panic if frame i
// does not exist, like a slice index.
type Track struct {
	Codec         string // "h264", "hevc", "av1", "vp9", "mpeg4", or the file's four-letter code without spaces
	Width, Height int    // pixels, before the rotation in the file
	Timescale     uint32 // ticks a second
	Config        []byte // decoder configuration: the content of avcC, hvcC, av1C, vpcC or esds; nil without one
	Bits          int    // bits per colour channel from Config; 0 if unknown
	Hidden        int    // frames in the file that the edit list does not show
	// Notes counts frames that were lost because the file is broken or cut, and lists the file's other tracks.
	Notes dataset.Notes

	file    *File
	step    uint32   // a frame's usual length in ticks: see BaseRate
	stsd    []byte   // the sample description, a box
	samples []sample // in the file's order, which is that of decoding
	order   []int32  // the samples in the order in which they are shown
	ticks   []int64  // when each of those is
}

// sample is a frame's place and time before the edit list. One that was lost has size 0.
type sample struct {
	at, time int64
	size     uint32
	key      bool
}

// Len returns the number of frames.
func (t *Track) Len() int { return len(t.order) }

// Time returns the presentation time of frame i: exactly ticks/timescale seconds.
func (t *Track) Time(i int) (ticks int64, timescale uint32) { return t.ticks[i], t.Timescale }

// Times returns the frame times in nanoseconds, each rounded to nearest from its exact fraction. They never decrease.
func (t *Track) Times() []int64 {
	out := make([]int64, len(t.ticks))
	for i := range out {
		out[i] = t.nanoseconds(i)
	}
	return out
}

func (t *Track) nanoseconds(i int) int64 {
	ns, _ := rescale(t.ticks[i], 1e9, uint64(t.Timescale))
	return ns
}

// rescale returns v*mul/div rounded to the nearest, halves away from 0, and false if it is 2^62 or more. The result is held at 2^62 then.
func rescale(v int64, mul, div uint64) (int64, bool) {
	neg := v < 0
	u := uint64(v)
	if neg {
		u = -u
	}
	hi, lo := bits.Mul64(u, mul)
	lo, carry := bits.Add64(lo, div/2, 0)
	hi += carry
	q := uint64(math.MaxUint64)
	if hi < div {
		q, _ = bits.Div64(hi, lo, div)
	}
	ok := q < maxTime
	out := int64(min(q, maxTime))
	if neg {
		out = -out
	}
	return out, ok
}

// maxTime is as far as a time may be from 0, in ticks and in nanoseconds: 146 years in the latter.
const maxTime = 1 << 62

// BaseRate returns the frames a second, which ffmpeg calls r_frame_rate: for the usual length of a frame, or 0 if the frames have none. It
// is the length of all frames, or of all but the last. If they differ, it is the largest common divisor of the lengths of frames 4 to 20,
// in the file's order, if it is longer than 2 ms. Otherwise ffmpeg guesses.
func (t *Track) BaseRate() float64 {
	if t.step == 0 {
		return 0
	}
	return float64(t.Timescale) / float64(t.step)
}

// Nearest returns the frame nearest to a time in nanoseconds (the earlier one in a tie), and off, the frame's time minus ns.
// Without frames it returns -1.
func (t *Track) Nearest(ns int64) (frame int, off int64) {
	if len(t.ticks) == 0 {
		return -1, 0
	}
	ns = min(max(ns, -maxTime), maxTime)
	i := sort.Search(len(t.ticks), func(i int) bool { return t.nanoseconds(i) >= ns })
	if i == len(t.ticks) || i > 0 && ns-t.nanoseconds(i-1) <= t.nanoseconds(i)-ns {
		i--
	}
	return i, t.nanoseconds(i) - ns
}

// Key reports whether frame i is a key frame, which decodes without other frames.
func (t *Track) Key(i int) bool { return t.samples[t.order[i]].key }

// Decoded returns the position of frame i in decoding order, which is file order.
func (t *Track) Decoded(i int) int { return int(t.order[i]) }

// ReadFrame returns the encoded bytes of frame i; the package comment describes them. The caller may keep them. If frame i does not
// exist, the error is a *dataset.RangeError.
func (t *Track) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	if err := t.check(i); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := t.samples[t.order[i]]
	return t.file.read(fmt.Sprintf("frame %d", i), s.at, int64(s.size))
}

func (t *Track) check(i int) error {
	if i < 0 || i >= len(t.order) {
		return &dataset.RangeError{What: "frame", Got: i, Len: len(t.order)}
	}
	return nil
}

// firstVideo finds the first video track and reads it.
func (f *File) firstVideo() (*Track, error) {
	boxes, traks, broken := f.children(f.moov, "trak")
	if b, ok := boxes["mvex"]; ok {
		return nil, f.fragmented(b)
	}
	var t *Track
	var mdia map[string]box
	var edts box
	var others dataset.Notes
	for i, trak := range traks {
		parts, _, brokenTrak := f.children(trak, "")
		media, _, brokenMedia := f.children(parts["mdia"], "")
		hdlr, err := f.read("hdlr", media["hdlr"].body, min(12, media["hdlr"].size()))
		switch {
		case errors.Is(err, dataset.ErrClosed):
			return nil, err
		case t == nil && len(hdlr) == 12 && string(hdlr[8:]) == "vide":
			t, mdia, edts = &Track{file: f, Notes: slices.Clone(f.damage)}, media, parts["edts"]
			for _, err := range []error{broken, brokenTrak, brokenMedia} {
				t.damaged(err)
			}
		case len(hdlr) == 12:
			others.Add(dataset.Note{Code: dataset.CodeOtherTrack, Subject: fmt.Sprintf("track %d", i+1), Count: 1, Detail: dataset.Detail{Got: string(hdlr[8:])}})
		default:
			others.Add(dataset.Note{Code: dataset.CodeOtherTrack, Subject: fmt.Sprintf("track %d", i+1), Count: 1})
		}
	}
	switch {
	case t != nil:
		t.Notes = append(t.Notes, others...)
		if err := t.read(boxes["mvhd"], edts, mdia); err != nil {
			return nil, err
		}
		return t, nil
	case broken != nil:
		return nil, broken
	}
	return nil, f.fail(f.moov.at, dataset.ErrNotFound, "video track", fmt.Sprintf("%d tracks of other kinds", len(traks)), "one")
}

// timescale reads the ticks a second of mvhd or mdhd.
func (f *File) timescale(b box, name string) (uint32, error) {
	head, err := f.read(name, b.body, min(b.size(), 24))
	if err != nil {
		return 0, err
	}
	at := 12
	if len(head) > 0 && head[0] == 1 {
		at = 20
	}
	if len(head) < at+4 {
		return 0, f.fail(b.at, dataset.ErrCorrupt, name, fmt.Sprintf("%d bytes", b.size()), fmt.Sprintf("at least %d", at+4))
	}
	scale := binary.BigEndian.Uint32(head[at:])
	if scale == 0 {
		return 0, f.fail(b.body+int64(at), dataset.ErrCorrupt, name+": timescale", "0", "ticks a second")
	}
	return scale, nil
}

// Bytes returns the total size of the frames from to to-1, without the frames that they depend on.
func (t *Track) Bytes(from, to int) (n int64) {
	for _, i := range t.order[from:to] {
		n += int64(t.samples[i].size)
	}
	return n
}

package video

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Frames are packets of a video that need no file around them, one for each frame and in the order in which they are shown: h264 and h265 with start
// codes (Annex B), VP9, and AV1's temporal units. It is a dataset.FrameDecoder.
type Frames struct {
	dataset.FrameSource
	Name  string // of the media stream
	Codec string // as Codecs has it
	Count int
	// Packet returns how many bytes a packet has, and whether decoding can begin there, as Begins says.
	Packet func(ctx context.Context, i int) (size uint32, begins bool, err error)
}

// entries are the names of mp4's sample entries.
var entries = map[string]string{"h264": "avc1", "h265": "hvc1", "hevc": "hvc1", "vp9": "vp09", "av1": "av01"}

// Decodes reports whether Frames are of that encoding, as a recording names it.
func Decodes(encoding string) bool { return entries[encoding] != "" }

// Begins reports whether decoding can begin with a packet. It has what the decoder must know of the video (of h264 and h265 the sequence parameter set,
// of AV1 the sequence header), and its picture, if it has one, needs none before it: IDR of h264, IRAP of h265, a key frame of VP9.
func Begins(codec string, packet []byte) bool {
	switch codec {
	case "h264":
		return nalBegins(packet, func(b byte) (kind, set byte) { return b & 31, 7 }, 1, 5, 5, 5)
	case "h265", "hevc":
		return nalBegins(packet, func(b byte) (kind, set byte) { return b >> 1 & 63, 33 }, 0, 31, 16, 21)
	case "vp9":
		return vp9Begins(packet)
	case "av1":
		return av1Begins(packet)
	}
	return false
}

// nalBegins looks at the NAL units up to the first that has a part of the picture, which is of the kinds first to last, and of those from to to if it
// needs no picture before it.
func nalBegins(b []byte, kindOf func(b byte) (kind, set byte), first, last, from, to byte) bool {
	described := false
	for {
		at := bytes.Index(b, []byte{0, 0, 1})
		if at < 0 || at+3 >= len(b) {
			return described
		}
		kind, set := kindOf(b[at+3])
		switch {
		case kind == set:
			described = true
		case kind >= first && kind <= last:
			return described && kind >= from && kind <= to
		}
		b = b[at+4:]
	}
}

// vp9Begins reads the first bits of the uncompressed header: marker 2, profile, whether a frame is shown again, whether it is no key frame.
func vp9Begins(b []byte) bool {
	if len(b) == 0 || b[0]>>6 != 2 {
		return false
	}
	if b[0]>>4&3 == 3 { // a reserved bit follows
		return b[0]>>1&3 == 0
	}
	return b[0]>>2&3 == 0
}

// av1Begins looks for the sequence header among the OBUs.
func av1Begins(b []byte) bool {
	for len(b) > 0 {
		kind, extended, sized := b[0]>>3&15, b[0]&4 != 0, b[0]&2 != 0
		if kind == 1 {
			return true
		}
		at := 1
		if extended {
			at++
		}
		if !sized || at >= len(b) {
			return false
		}
		size, n := binary.Uvarint(b[at:])
		if n <= 0 || size > uint64(len(b)-at-n) {
			return false
		}
		b = b[at+n+int(size):]
	}
	return false
}

// DecodeFrames decodes frames from to to-1, each u8 [H,W,3], from the last packet on with which that can begin. If there is none before a frame, that is
// an error that is dataset.ErrTruncated; if there is none at all, dataset.ErrUnsupported.
func (f *Frames) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		if err := dataset.CheckRange("frame of "+f.Name, from, to, f.Count); err != nil {
			yield(nil, err)
			return
		}
		if from == to {
			return
		}
		job, first, err := f.job(ctx, from, to)
		if err != nil {
			yield(nil, err)
			return
		}
		ranks := make([]int32, to-from)
		for i := range ranks {
			ranks[i] = int32(from - first + i)
		}
		for frame, err := range job.Decode(ctx, ranks) {
			if !yield(frame, err) {
				return
			}
		}
	}
}

// job is what frames need, and which frame it begins with.
func (f *Frames) job(ctx context.Context, from, to int) (job *Job, first int, err error) {
	var packets []Packet
	for i := to - 1; i >= 0; i-- {
		size, begins, err := f.Packet(ctx, i)
		if err != nil {
			return nil, 0, err
		}
		packets = append(packets, Packet{Size: size, Key: begins})
		if begins && i <= from {
			slices.Reverse(packets)
			for rank := range packets {
				packets[rank].Rank = int32(rank)
			}
			return f.of(packets, from, i), i, nil
		}
	}
	e := f.fail(from)
	e.Kind, e.Got, e.Want = dataset.ErrTruncated, "no key frame before it", "one to begin with: the recording began between two"
	for i := from; i < f.Count; i++ {
		if _, begins, err := f.Packet(ctx, i); err != nil || begins {
			return nil, 0, e
		}
	}
	e.Kind, e.Got, e.Want = dataset.ErrUnsupported, fmt.Sprintf("no key frame among its %d", f.Count), "one that has the decoder's parameters with it (Annex B of h264 and h265, OBUs of av1)"
	return nil, 0, e
}

func (f *Frames) of(packets []Packet, from, first int) *Job {
	open := func(ctx context.Context, i int) (io.Reader, error) {
		b, err := f.ReadFrame(ctx, first+i)
		if err == nil && uint64(len(b)) != uint64(packets[i].Size) {
			e := f.fail(first + i)
			e.Kind, e.Got, e.Want = dataset.ErrCorrupt, fmt.Sprintf("%d bytes", len(b)), fmt.Sprintf("%d, as when the recording was opened", packets[i].Size)
			return nil, e
		}
		return bytes.NewReader(b), err
	}
	return &Job{Codec: f.Codec, Entry: entry(entries[f.Codec]), Packets: packets, Open: open, Fail: func(place int) *dataset.FormatError {
		if place < 0 {
			return f.fail(from)
		}
		return f.fail(from + place)
	}}
}

func (f *Frames) fail(frame int) *dataset.FormatError {
	return &dataset.FormatError{Format: "video", Offset: -1, Msg: fmt.Sprintf("decode frame %d of %s (%s)", frame, f.Name, f.Codec)}
}

// entry is a sample entry without a size of the pictures and without a configuration, which the packets have.
func entry(kind string) []byte {
	return Atom(kind, Words(0, 1), make([]byte, 20), Words(72<<16, 72<<16, 0), []byte{0, 1}, make([]byte, 32), []byte{0, 24, 255, 255})
}

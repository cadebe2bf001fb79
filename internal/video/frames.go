package video

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Frames are video packets without a container file, one per frame in display order: h264 and h265 with start codes (Annex B), VP9, and
// AV1 temporal units. It implements dataset.FrameDecoder and Clip.
type Frames struct {
	dataset.FrameSource
	Name  string // the media stream's name
	Codec string // as in Codecs
	Count int
	// Packet returns a packet's size, and whether decoding can begin there (see Begins).
	Packet func(ctx context.Context, i int) (size uint32, begins bool, err error)
}

// entries maps codecs to mp4 sample entry names.
var entries = map[string]string{"h264": "avc1", "h265": "hvc1", "hevc": "hvc1", "vp9": "vp09", "av1": "av01"}

// Decodes reports whether Frames supports an encoding, in a recording's spelling.
func Decodes(encoding string) bool { return entries[encoding] != "" }

// Begins reports whether decoding can begin with a packet. The packet must contain the decoder's parameters (the sequence parameter set
// for h264 and h265, the sequence header for AV1). Its picture, if any, must not depend on earlier ones: IDR in h264, IRAP in h265, a
// key frame in VP9.
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

// nalBegins reads the NAL units up to the first one with picture data. Picture data has kinds first to last; kinds from to to are
// independent of earlier pictures.
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

// vp9Begins reads the first bits of the uncompressed header: marker 2, profile, show_existing_frame, and frame_type, which is 0 for a
// key frame.
func vp9Begins(b []byte) bool {
	if len(b) == 0 || b[0]>>6 != 2 {
		return false
	}
	if b[0]>>4&3 == 3 { // a reserved bit follows
		return b[0]>>1&3 == 0
	}
	return b[0]>>2&3 == 0
}

// av1Begins searches the OBUs for a sequence header.
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

// DecodeFrames implements dataset.FrameDecoder with Planes.
func (f *Frames) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return DecodeRange(ctx, from, to, f.Planes)
}

// Planes implements Clip. A frame with no packet before it where decoding can begin is dataset.ErrTruncated. If there is no such packet at
// all, the result is dataset.ErrUnsupported.
func (f *Frames) Planes(ctx context.Context, frames []int, device string, show Show) error {
	if err := CheckNumbers("frame of "+f.Name, frames, f.Count); err != nil {
		return err
	}
	for len(frames) > 0 {
		from, to, err := f.Group(ctx, frames[0])
		if err != nil {
			return err
		}
		_, begins, err := f.Packet(ctx, from)
		if err != nil {
			return err
		}
		var n int
		if begins {
			n, err = f.planes(ctx, from, frames, device, show)
		} else {
			n, err = f.keyless(to, frames, show)
		}
		if err != nil {
			return err
		}
		frames = frames[n:]
	}
	return nil
}

// planes decodes the first n of some frames, beginning with the packet from.
func (f *Frames) planes(ctx context.Context, from int, frames []int, device string, show Show) (n int, err error) {
	n = Together(frames, func(frame int) int { return frame }, func(frame int) int {
		begin, _, failed := f.Group(ctx, frame)
		err = errors.Join(err, failed)
		return begin
	})
	var packets []Packet
	for i := from; i <= frames[n-1]; i++ {
		size, begins, failed := f.Packet(ctx, i)
		err = errors.Join(err, failed)
		packets = append(packets, Packet{Size: size, Rank: int32(i - from), Key: begins})
	}
	if err != nil {
		return n, err
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = frames[i] - from
	}
	return n, f.job(packets, frames, from).Planes(ctx, ranks, device, func(rank int64, p *Planes, err error) error {
		return show(rank+int64(from), p, err)
	})
}

// keyless shows the first n frames, which lie before the packet to, as errors: there is no packet before them where decoding can begin.
func (f *Frames) keyless(to int, frames []int, show Show) (n int, err error) {
	for ; err == nil && n < len(frames) && frames[n] < to; n++ {
		e := f.fail(frames[n])
		if to == f.Count {
			e.Kind, e.Got, e.Want = dataset.ErrUnsupported, fmt.Sprintf("no key frame among its %d", f.Count), "one that has the decoder's parameters with it (Annex B of h264 and h265, OBUs of av1)"
			return n, e
		}
		e.Kind, e.Got, e.Want = dataset.ErrTruncated, "no key frame before it", "one to begin with: the recording began between two"
		err = show(int64(frames[n]), nil, e)
	}
	return n, err
}

// Group implements Clip. The packets before the first one where decoding can begin are a group, too.
func (f *Frames) Group(ctx context.Context, frame int) (from, to int, err error) {
	if err := CheckNumbers("frame of "+f.Name, []int{frame}, f.Count); err != nil {
		return 0, 0, err
	}
	begins, from := false, frame+1
	for from > 0 && !begins && err == nil {
		from--
		_, begins, err = f.Packet(ctx, from)
	}
	begins = false
	for to = frame + 1; to < f.Count && err == nil; to++ {
		if _, begins, err = f.Packet(ctx, to); begins {
			break
		}
	}
	return from, to, err
}

// CheckDecoder implements dataset.DecoderChecker.
func (f *Frames) CheckDecoder(context.Context) error { return f.job(nil, []int{0}, 0).Check() }

// job returns the job for decoding frames. first is the index of its first packet.
func (f *Frames) job(packets []Packet, frames []int, first int) *Job {
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
		return f.fail(frames[max(place, 0)])
	}}
}

func (f *Frames) fail(frame int) *dataset.FormatError {
	return &dataset.FormatError{Format: "video", Offset: -1, Msg: fmt.Sprintf("decode frame %d of %s (%s)", frame, f.Name, f.Codec)}
}

// entry returns a sample entry without a picture size or configuration, which the packets contain.
func entry(kind string) []byte {
	return Atom(kind, Words(0, 1), make([]byte, 20), Words(72<<16, 72<<16, 0), []byte{0, 1}, make([]byte, 32), []byte{0, 24, 255, 255})
}

package video

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"syscall"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Decode decodes the frames with the given ascending ranks, each as u8 [H,W,3]. Each driver may refuse the stream; then the next one
// decodes it, and ffmpeg at last. Decode stops at the first error and when ctx ends. If ffmpeg is necessary and missing, the error is
// dataset.ErrUnsupported.
func (j *Job) Decode(ctx context.Context, ranks []int32) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		done, library := 0, ""
		for _, d := range registered() {
			n, err := j.drive(ctx, d, ranks, done, yield)
			done += n
			var refused *Refusal
			if !errors.As(err, &refused) {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			if refused.Reason == NoLibrary || refused.Reason == OldLibrary {
				library = d.Library
			}
		}
		err := j.run(ctx, ranks, done, library, func(_ int64, p *Planes, _ error) error {
			frame, err := p.RGB()
			if err == nil && !yield(frame, nil) {
				return errEnough
			}
			return err
		})
		if err != nil && err != errEnough {
			yield(nil, err)
		}
	}
}

var errEnough = errors.New("the loop over the frames ended")

// answer is a frame, or the reason why there is none.
type answer struct {
	frame *tensor.Tensor
	err   error
}

// mostWaiting is the largest number of frames that wait for an earlier one. No codec reorders more than 16 pictures.
const mostWaiting = 32

// drive decodes the ranks after the first done ones with a driver, and returns how many it yielded. The error is nil if yield ended the
// loop, and a *Refusal if the driver does not decode the stream.
func (j *Job) drive(ctx context.Context, driver Driver, ranks []int32, done int, yield func(*tensor.Tensor, error) bool) (n int, err error) {
	d, err := driver.Open(Stream{Codec: j.Codec, Config: j.box("avcC", "hvcC", "av1C")})
	if err != nil {
		return 0, j.explain(driver, done, err)
	}
	defer d.Close()
	ready := map[int32]answer{}
	show := func(number int64, p *Planes, err error) error {
		rank := j.Packets[number].Rank
		_, wanted := slices.BinarySearch(ranks[done+n:], rank)
		if _, there := ready[rank]; there || !wanted {
			return nil
		}
		a := answer{err: err}
		if err == nil {
			j.colour(p)
			a.frame, a.err = p.RGB()
		}
		ready[rank] = a
		return nil
	}
	next, flushed := 0, false
	var packet []byte
	for ; done+n < len(ranks); n++ {
		want := ranks[done+n]
		a, there := ready[want]
		for ; !there; a, there = ready[want] {
			switch {
			case ctx.Err() != nil:
				return n, ctx.Err()
			case len(ready) > mostWaiting || flushed:
				err = ErrNoPicture
			case next < len(j.Packets):
				if packet, err = j.read(ctx, next, packet); err != nil {
					return n, err
				}
				err = d.Decode(packet, int64(next), show)
				next++
			default:
				err, flushed = d.Flush(show), true
			}
			if err != nil {
				return n, j.explain(driver, done+n, err)
			}
		}
		if a.err != nil {
			return n, j.explain(driver, done+n, a.err)
		}
		if !yield(a.frame, nil) {
			return n, nil
		}
		delete(ready, want)
	}
	return n, nil
}

// explain returns the error for the frame at a place, unless the driver refuses the stream or memory is short.
func (j *Job) explain(driver Driver, place int, err error) error {
	var refused *Refusal
	var short *tensor.Error
	if errors.As(err, &refused) || errors.As(err, &short) {
		return err
	}
	e := j.Fail(place)
	e.Kind, e.Got, e.Err = dataset.ErrCorrupt, "no picture of it from "+driver.Name, err
	var program *ProgramError
	if errors.Is(err, syscall.ENOMEM) {
		e.Err = &ProgramError{Err: err}
	}
	if errors.As(e.Err, &program) {
		e.Kind = dataset.ErrUnsupported
	}
	return e
}

// read returns a packet's bytes, in b if they fit.
func (j *Job) read(ctx context.Context, packet int, b []byte) ([]byte, error) {
	in, err := j.Open(ctx, packet)
	if err != nil {
		return nil, err
	}
	n := int(j.Packets[packet].Size)
	b = slices.Grow(b[:0], n)[:n]
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, fmt.Errorf("packet %d: %w", packet, err)
	}
	return b, nil
}

// colour sets the file's colour matrix and range if the stream states none. ffmpeg does the same, except for AV1.
func (j *Job) colour(p *Planes) {
	const matrix, flags, size = 9, 10, 11 // of a colr box with numbers
	b := j.box("colr")
	if p.Matrix == unspecified && j.Codec != "av1" && len(b) >= size && string(b[:4]) == "nclx" {
		p.Matrix, p.FullRange = b[matrix], p.FullRange || b[flags]>>7 == 1
	}
}

// box returns the body of the first box of some kinds in the sample entry, or nil.
func (j *Job) box(kinds ...string) []byte {
	const fields = 86 // of a video sample entry, before its boxes
	for b := j.Entry[min(fields, len(j.Entry)):]; len(b) >= 8; {
		n := int(binary.BigEndian.Uint32(b))
		if n < 8 || n > len(b) {
			return nil
		}
		if slices.Contains(kinds, string(b[4:8])) {
			return b[8:n]
		}
		b = b[n:]
	}
	return nil
}

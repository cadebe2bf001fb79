package video

import (
	"cmp"
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

// Decode decodes the frames with the given ascending ranks, each as u8 [H,W,3]. If a driver refuses the stream, the next one decodes it.
// ffmpeg is the last one. A frame that cannot be decoded is an error, and the later frames follow. If a decoder fails, decoding continues
// at the next packet where it can begin, and the frames in between are errors too. Decode ends after an error that all frames would have,
// and when ctx ends. If ffmpeg is necessary and missing, the error is dataset.ErrUnsupported.
func (j *Job) Decode(ctx context.Context, ranks []int32) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		c, library, list := cursor{job: j, ranks: ranks}, "", registered()
		stopped := false
		deliver := func(frame *tensor.Tensor, err error) bool {
			stopped = !yield(frame, err)
			return !stopped
		}
		for !stopped && c.done < len(ranks) {
			var failed int
			var err error
			if len(list) > 0 {
				failed, err = c.drive(ctx, list[0], deliver)
			} else {
				failed, err = c.run(ctx, library, func(_ int64, p *Planes, err error) error {
					var frame *tensor.Tensor
					if err == nil {
						if frame, err = p.RGB(); err != nil {
							return err
						}
					}
					if !deliver(frame, err) {
						return errEnough
					}
					return nil
				})
			}
			var refused *Refusal
			switch {
			case err == nil || stopped:
			case errors.As(err, &refused):
				if refused.Reason == NoLibrary || refused.Reason == OldLibrary {
					library = list[0].Library
				}
				list = list[1:]
			case !isDamage(err):
				yield(nil, err)
				return
			case len(list) == 0 && !c.single && failed < len(j.Packets): // ffmpeg may have ended before it wrote earlier pictures
				c.single, c.broken = true, len(j.Packets)
				for begin := j.nextBegin(c.from + 1); begin <= failed; begin = j.nextBegin(begin + 1) {
					c.from = begin
				}
			case c.single:
				c.broken = min(c.broken, failed)
				deliver(nil, err)
				c.done++
			default:
				c.skip(failed, err, deliver)
			}
		}
	}
}

var errEnough = errors.New("the loop over the frames ended")

// cursor is the position in a decoding job.
type cursor struct {
	job   *Job
	ranks []int32 // the wanted frames
	done  int     // ranks that have a frame or an error
	from  int     // the packet where decoding begins
	// single means that a process of ffmpeg decodes one frame, and gets no later packets. Then all pictures before a damaged one come. It
	// ends at the next key frame.
	single bool
	broken int // if single, the first packet without a picture
}

// isDamage reports whether an error concerns some frames, so that later ones may be decoded.
func isDamage(err error) bool {
	_, broken := dataset.AsBroken(err)
	return broken && !dataset.IsFatal(err)
}

// skip moves to the first packet after a failed one where decoding can begin. The frames before it are errors. The first error is err.
func (c *cursor) skip(failed int, err error, yield func(*tensor.Tensor, error) bool) {
	j := c.job
	c.from = j.nextBegin(failed + 1)
	for c.done < len(c.ranks) && (c.from == len(j.Packets) || j.packetOf(c.ranks[c.done]) < c.from) {
		if !yield(nil, err) {
			return
		}
		if c.done++; c.done < len(c.ranks) {
			err = j.undecoded(c.done, "", ErrUndecodable)
		}
	}
}

// nextBegin returns the first packet where decoding can begin, at the given one or after it. If there is none, it returns the number of
// packets.
func (j *Job) nextBegin(packet int) int {
	for packet < len(j.Packets) && !(j.Packets[packet].Key && (j.Begins == nil || j.Begins(packet))) {
		packet++
	}
	return min(packet, len(j.Packets))
}

// packetOf returns the index of the packet with a rank, or the number of packets.
func (j *Job) packetOf(rank int32) int {
	for i, p := range j.Packets {
		if p.Rank == rank {
			return i
		}
	}
	return len(j.Packets)
}

// result is a frame, or the reason why there is none.
type result struct {
	frame *tensor.Tensor
	err   error
}

// mostWaiting limits the frames that wait for an earlier one. It is enough, because no codec reorders more than 16 pictures.
const mostWaiting = 32

// drive decodes the remaining frames with a driver. The error is nil after the last frame, and if yield returned false. It is a *Refusal
// if the driver does not decode the stream. For other errors, failed is the packet.
func (c *cursor) drive(ctx context.Context, driver Driver, yield func(*tensor.Tensor, error) bool) (failed int, err error) {
	j, left, ready := c.job, slices.Clone(c.ranks[c.done:]), map[int32]result{}
	var fatal error // one that all frames would have
	failed, err = j.feed(ctx, driver, "", c.from, c.ranks, &left, func(rank int64, p *Planes, err error) error {
		r := result{err: err}
		if err == nil {
			r.frame, r.err = p.RGB()
		}
		ready[int32(rank)] = r
		for ; c.done < len(c.ranks); c.done++ {
			r, there := ready[c.ranks[c.done]]
			if !there {
				if len(ready) <= mostWaiting {
					return nil
				}
				r.err = ErrNoPicture
			}
			delete(ready, c.ranks[c.done])
			if r.err != nil {
				if r.err = j.explain(driver, c.done, r.err); !isDamage(r.err) {
					fatal = r.err
					return errEnough
				}
			}
			if !yield(r.frame, r.err) {
				break
			}
		}
		return errEnough
	})
	if err == errEnough {
		err = fatal
	}
	return failed, err
}

// feed decodes packets with a driver, beginning with the packet from. It calls show for each rank in left, as the driver shows the
// pictures, with the rank as the number, and removes it from left. The error is show's, or a *Refusal if the driver does not decode the
// stream. For other errors, failed is the packet. ranks has all ranks of the job.
func (j *Job) feed(
	ctx context.Context, driver Driver, device string, from int, ranks []int32, left *[]int32, show Show,
) (failed int, err error) {
	var ended error // by show
	explained := func(err error) error {
		if len(*left) == 0 || ended != nil || ctx.Err() != nil {
			return cmp.Or(ended, ctx.Err())
		}
		return j.explain(driver, slices.Index(ranks, (*left)[0]), err)
	}
	d, err := driver.Open(j.stream(device))
	if err != nil {
		return from, explained(err)
	}
	defer d.Close()
	shown := func(number int64, p *Planes, err error) error {
		rank := j.Packets[number].Rank
		i, wanted := slices.BinarySearch(*left, rank)
		if !wanted || ctx.Err() != nil {
			return ctx.Err()
		}
		*left = slices.Delete(*left, i, i+1)
		if err == nil {
			j.colour(p)
		}
		ended = show(int64(rank), p, err)
		return ended
	}
	var packet []byte
	for i := from; i < len(j.Packets); i++ {
		if len(*left) == 0 || ctx.Err() != nil {
			return i, ctx.Err()
		}
		if packet, err = j.read(ctx, i, packet); err != nil {
			return i, err
		}
		if err := d.Decode(packet, int64(i), shown); err != nil {
			return i, explained(err)
		}
	}
	if len(*left) == 0 {
		return 0, nil
	}
	if err := d.Flush(shown); err != nil {
		return len(j.Packets) - 1, explained(err)
	}
	for _, rank := range slices.Clone(*left) {
		if err := show(int64(rank), nil, ErrNoPicture); err != nil {
			return len(j.Packets), err
		}
	}
	return 0, nil
}

// stream returns the job's stream.
func (j *Job) stream(device string) Stream {
	return Stream{Codec: j.Codec, Config: j.box("avcC", "hvcC", "av1C"), Device: device}
}

// explain returns the error for the frame at a place. If the driver refuses the stream or memory is short, it returns err.
func (j *Job) explain(driver Driver, place int, err error) error {
	var refused *Refusal
	var short *tensor.Error
	if errors.As(err, &refused) || errors.As(err, &short) {
		return err
	}
	e := j.undecoded(place, " from "+driver.Name, err)
	var program *ProgramError
	if errors.Is(err, syscall.ENOMEM) {
		e.Err = &ProgramError{Err: err}
	}
	if errors.As(e.Err, &program) {
		e.Kind = dataset.ErrUnsupported
	}
	return e
}

// undecoded returns the error for the frame at a place. from is the decoder.
func (j *Job) undecoded(place int, from string, err error) *dataset.FormatError {
	e := j.Fail(place)
	e.Kind, e.Got, e.Err = dataset.ErrCorrupt, "no picture of it"+from, err
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

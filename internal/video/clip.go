package video

import (
	"context"
	"fmt"
	"iter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Clip is a video whose pictures can be decoded as planes. Videos in an episode's media implement it; see AsClip.
type Clip interface {
	// Planes decodes the frames with the given ascending numbers, and calls show for each one, with its number. The order is the decoder's:
	// B-frames may come after a later frame. The pictures are in the memory of the device, such as "cuda:0", if a driver decodes there.
	// Otherwise, and if device is "", they have Data.
	//
	// If a frame cannot be decoded, show gets the reason, and the other frames follow. Planes returns an error if all frames would have it,
	// if ctx ends, or if show returns one, and then it decodes no more. A number beyond the frames is a *dataset.RangeError.
	Planes(ctx context.Context, frames []int, device string, show Show) error
	// Group returns the group from..to-1 that contains frame, in the order of presentation. A group begins at a key frame where decoding
	// can begin, and ends before the next one. The frames before the first such frame are a group, too. If Planes decodes a whole group, it
	// reads each packet once.
	Group(ctx context.Context, frame int) (from, to int, err error)
}

// Decode decodes the frames with the given ascending numbers, in that order, each as u8 [H,W,3]. planes is a Clip's or a Job's method
// Planes. If a frame cannot be decoded, it is an error, and the next frames follow. An error that all frames would have is the last one.
func Decode(
	ctx context.Context, frames []int, planes func(ctx context.Context, frames []int, device string, show Show) error,
) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		done, ready := 0, map[int]result{}
		err := planes(ctx, frames, "", func(number int64, p *Planes, err error) error {
			r := result{err: err}
			if err == nil {
				if r.frame, err = p.RGB(); err != nil {
					return err
				}
			}
			if int(number) >= frames[done] {
				ready[int(number)] = r
			}
			for ; done < len(frames); done++ {
				r, there := ready[frames[done]]
				if !there {
					if len(ready) <= mostWaiting {
						return nil
					}
					r.err = &dataset.FormatError{
						Format: "video", Offset: -1, Kind: dataset.ErrCorrupt, Msg: fmt.Sprint("decode frame ", frames[done]),
						Got: "no picture of it", Err: ErrNoPicture,
					}
				}
				delete(ready, frames[done])
				if !yield(r.frame, r.err) {
					return errEnough
				}
			}
			return errEnough
		})
		if err != nil && err != errEnough {
			yield(nil, err)
		}
	}
}

// result is a frame, or the reason why there is none.
type result struct {
	frame *tensor.Tensor
	err   error
}

// mostWaiting limits the frames that wait for an earlier one. It is enough, because no codec reorders more than 16 pictures.
const mostWaiting = 32

// DecodeRange decodes the frames from to to-1, as Decode does.
func DecodeRange(
	ctx context.Context, from, to int, planes func(ctx context.Context, frames []int, device string, show Show) error,
) iter.Seq2[*tensor.Tensor, error] {
	if err := dataset.CheckRange("frame", from, to, to); err != nil {
		return func(yield func(*tensor.Tensor, error) bool) { yield(nil, err) }
	}
	return Decode(ctx, Numbers(from, to), planes)
}

// Numbers returns the numbers from to to-1.
func Numbers(from, to int) []int {
	list := make([]int, to-from)
	for i := range list {
		list[i] = from + i
	}
	return list
}

// CheckNumbers returns a *dataset.RangeError if one of the ascending numbers is below 0, or n or more.
func CheckNumbers(what string, numbers []int, n int) error {
	if len(numbers) == 0 {
		return nil
	}
	return dataset.CheckRange(what, numbers[0], numbers[len(numbers)-1]+1, n)
}

// longestSkip is how many unneeded packets a job decodes to reach the next wanted frame. After a longer gap another job begins.
const longestSkip = 16

// Together returns how many of the frames, at least 1, one job decodes. packet returns a frame's packet, and begin the packet where its
// decoding begins.
func Together(frames []int, packet, begin func(frame int) int) int {
	last := packet(frames[0])
	for i, frame := range frames {
		at := packet(frame)
		if next := last + longestSkip; at > next && begin(frame) > next {
			return i
		}
		last = max(last, at)
	}
	return len(frames)
}

// groupFrames is about how many frames are decoded together, because starting a decoder costs time.
const groupFrames = 64

// GroupOf returns the frames from..to-1 of a source with n frames that are decoded together with a frame: whole groups of a video, joined
// to about 64 frames. A source that is no video has groups of one frame.
func GroupOf(ctx context.Context, source dataset.FrameSource, n, frame int) (from, to int, err error) {
	if _, is := source.(dataset.FrameDecoder); !is {
		return frame, frame + 1, nil
	}
	clip, grouped := AsClip(source)
	begin := func(frame int) int {
		if err != nil || frame >= n || !grouped {
			return min(frame, n)
		}
		var at int
		at, _, err = clip.Group(ctx, frame)
		return at
	}
	at := frame / groupFrames * groupFrames
	from, to = begin(at), begin(at+groupFrames)
	for to <= frame && err == nil {
		at += groupFrames
		from, to = to, begin(at+groupFrames)
	}
	return from, to, err
}

// AsClip returns a frame source as a Clip, and false if it is no video.
func AsClip(source dataset.FrameSource) (Clip, bool) {
	if lender, lends := source.(dataset.FrameLender); lends {
		return borrowed{lender}, true
	}
	c, is := source.(Clip)
	return c, is
}

// borrowed is a video in a file that is opened when needed.
type borrowed struct{ from dataset.FrameLender }

func (b borrowed) use(ctx context.Context, do func(c Clip) error) error {
	source, done, err := b.from.Borrow(ctx)
	if err != nil {
		return err
	}
	defer done()
	c, is := source.(Clip)
	if !is {
		return &dataset.FormatError{Format: "video", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "decode frames", Got: "no video", Want: "one"}
	}
	return do(c)
}

func (b borrowed) Planes(ctx context.Context, frames []int, device string, show Show) error {
	return b.use(ctx, func(c Clip) error { return c.Planes(ctx, frames, device, show) })
}

func (b borrowed) Group(ctx context.Context, frame int) (from, to int, err error) {
	err = b.use(ctx, func(c Clip) (err error) {
		from, to, err = c.Group(ctx, frame)
		return err
	})
	return from, to, err
}

package convert

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/tensor"
)

// Picked is the source of a media stream on a plan's clock. Row i shows frame Frames[i] of Recorded; a frame may be shown several
// times or not at all. Valid[i] is 0 if the plan has no valid frame there. The stream's times are the clock's, because a frame
// belongs to its tick; the frame's own time is Recorded.Times[Frames[i]].
//
// A video frame depends on other frames, so it cannot be copied alone. For a video the stream's encoding is rgb8, and ReadFrame
// decodes, which is fast if rows are read in order.
type Picked struct {
	Recorded *dataset.Media
	Frames   []int
	Valid    []uint8

	mu     sync.Mutex
	at     int // the frame of last
	last   *tensor.Tensor
	failed error                                // of frame at, if last is nil
	next   func() (*tensor.Tensor, error, bool) // frames from at+1 on
	stop   func()
}

// ReadFrame returns the frame for row i.
func (p *Picked) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	if !p.Recorded.IsVideo() {
		return p.Recorded.Frame(ctx, p.Frames[i])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	image, err := p.decode(ctx, p.Frames[i])
	if err != nil {
		return nil, err
	}
	pixels, err := tensor.Data[uint8](image)
	return slices.Clone(pixels), err
}

// DepthInfo returns the recorded camera's DepthInfo.
func (p *Picked) DepthInfo() string { return lerobotwrite.DepthInfo(p.Recorded) }

// ahead limits how many frames a decoder decodes to reach a later frame. If the distance is larger, a new decoder starts at that frame.
const ahead = 300

// decode returns frame n of a video. The frame is kept, because the next row often has it, too. If the video ends before frame n, the error
// is the last frame's, or a *dataset.RangeError.
func (p *Picked) decode(ctx context.Context, n int) (*tensor.Tensor, error) {
	if (p.last != nil || p.failed != nil) && p.at == n {
		return p.last, p.failed
	}
	if p.next == nil || n <= p.at || n > p.at+ahead {
		p.end()
		p.next, p.stop = iter.Pull2(p.Recorded.DecodeRange(context.WithoutCancel(ctx), n, p.Recorded.Len()))
		p.at = n - 1
	}
	for {
		image, err, ok := p.next()
		if !ok {
			if err = p.failed; err == nil {
				err = &dataset.RangeError{What: "frame of " + p.Recorded.Name, Got: n, Len: p.at + 1}
			}
			p.end()
			return nil, err
		}
		p.last, p.failed = image, err
		if p.at++; p.at == n {
			if n == p.Recorded.Len()-1 {
				p.stop()
				p.next, p.stop = nil, nil
			}
			return image, err
		}
	}
}

func (p *Picked) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

// end ends the decoder.
func (p *Picked) end() {
	if p.stop != nil {
		p.stop()
	}
	p.next, p.stop, p.last, p.failed = nil, nil, nil, nil
}

// measure sets a video's width and height from its first frame that is not damaged, if its messages do not state them.
func measure(ctx context.Context, m *dataset.Media) error {
	p, picked := m.Source.(*Picked)
	if !picked || !p.Recorded.IsVideo() || m.Width > 0 || len(p.Frames) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	image, err := p.decode(ctx, p.Frames[0])
	for _, n := range p.Frames[1:] {
		if !damaged(err) {
			break
		}
		image, err = p.decode(ctx, n)
	}
	var bad *dataset.FormatError
	switch {
	case err == nil:
		m.Height, m.Width = image.Dim(0), image.Dim(1)
	case errors.As(err, &bad) && errors.Is(err, dataset.ErrUnsupported) && ofEpisode(err): // so that the target may leave it out
		return nil
	}
	return err
}

// undecoded returns a note with the reason why a media stream cannot be decoded, for example because its pixels have more than 8 bits. It
// decodes the first frame. If that succeeds, or if only this frame is broken, the note's code is empty.
func undecoded(ctx context.Context, m *dataset.Media) (why dataset.Note) {
	if m.Len() == 0 {
		return why
	}
	_, err := m.Decode(ctx, 0)
	var bad *dataset.FormatError
	if !errors.As(err, &bad) || !errors.Is(err, dataset.ErrUnsupported) || !ofEpisode(err) {
		return why
	}
	if why.Code, why.Got = dataset.CodeFramesUndecoded, bad.Got; bad.Got == "" {
		why.Cause = bad
	}
	return why
}

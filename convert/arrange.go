package convert

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// arranged is an episode as align takes it: media are streams of the frames' numbers, so that the plan's clock, kinds, gaps and tolerances hold for
// them as for any stream; and streams with an offset have times that are later by it.
type arranged struct {
	episode *dataset.Episode
	plan    align.Plan
	origin  map[string]source // by the name in episode
	names   map[string]string // of streams in episode, by their names in the output, where the plan gives them one
}

// source is where a stream of an arranged episode comes from.
type source struct {
	name    string // in the recording
	samples int
	media   *dataset.Media // nil for a stream of numbers
}

func (a *arranged) from(name string) source {
	if in, renamed := a.names[name]; renamed {
		name = in
	}
	return a.origin[name]
}

// digits is how many columns a frame's number takes: digits of base 256, each of which any dtype of values holds exactly.
const digits = 4

// noKinds are those of a camera's columns: not those of the defaults, which are of columns that it has not.
var noKinds = []align.ColumnKind{}

// arrange makes an episode and a plan of a recording and the plan that was given.
func (c *Conversion) arrange(e *dataset.Episode) (*arranged, error) {
	own := *e
	own.Streams, own.Media, own.Clouds = slices.Clone(e.Streams), nil, nil
	a := &arranged{episode: &own, plan: *c.opt.Plan, origin: map[string]source{}, names: map[string]string{}}
	for i := range own.Streams {
		a.origin[own.Streams[i].Name] = source{own.Streams[i].Name, own.Streams[i].Len(), nil}
	}
	clock := tensor.I64
	if len(own.Streams) > 0 {
		clock = own.Streams[0].Times.DType()
	}
	named := len(a.plan.Streams) > 0
	var keep []int // of the plan's streams: cameras that nobody asked for are none
	for k := range a.plan.Streams {
		if s := &a.plan.Streams[k]; e.MediaStream(fromOf(s)) == nil || c.wantsMedia(fromOf(s)) {
			keep = append(keep, k)
		}
	}
	a.plan = a.plan.Pick(keep...)
	a.plan.Streams = slices.Clone(a.plan.Streams)
	for i := range e.Media {
		m := &e.Media[i]
		if !c.wantsMedia(m.Name) || m.Len() == 0 || a.origin[m.Name].name != "" {
			continue
		}
		s, err := numbers(m, clock)
		if err != nil {
			return nil, err
		}
		own.Streams = append(own.Streams, s)
		a.origin[m.Name] = source{m.Name, m.Len(), m}
		k := slices.IndexFunc(a.plan.Streams, func(s align.Stream) bool { return fromOf(&s) == m.Name })
		if k >= 0 {
			s := &a.plan.Streams[k]
			if s.Kinds == nil {
				s.Kinds = noKinds
			}
			if s.Normalise = "none"; !slices.Contains(frameKinds, s.Kind) || len(s.Kinds)+len(s.Columns) > 0 {
				got := fmt.Sprintf("kind %q of the camera %s, or columns of it", s.Kind, s.Name)
				return nil, refuse("Plan", got, "previous, nearest or next: there is nothing between two frames")
			}
		} else if named {
			a.plan.Streams = append(a.plan.Streams, align.Stream{Name: m.Name, Sampling: align.Sampling{Kind: "previous", Kinds: noKinds, Normalise: "none"}})
		}
	}
	if err := a.shift(); err != nil {
		return nil, err
	}
	for i := range a.plan.Streams {
		if s := &a.plan.Streams[i]; s.Name != fromOf(s) {
			a.names[s.Name] = fromOf(s)
		}
	}
	return a, nil
}

func fromOf(s *align.Stream) string {
	if s.From != "" {
		return s.From
	}
	return s.Name
}

// numbers is the stream of a media stream's frames' numbers.
func numbers(m *dataset.Media, clock tensor.DType) (s dataset.Stream, err error) {
	list := make([]float32, 0, digits*m.Len())
	for i := range m.Len() {
		for d := range digits {
			list = append(list, float32(i>>(8*d)&255))
		}
	}
	s = dataset.Stream{Name: m.Name, Type: m.Type, Columns: make([]dataset.Column, digits)}
	for d := range s.Columns {
		s.Columns[d] = dataset.Column{Name: fmt.Sprint("frame[", d, "]"), Integer: true}
	}
	if s.Values, err = tensor.Of(list, m.Len(), digits); err == nil {
		s.Times, err = clockOf(m.Times, clock)
	}
	return s, err
}

// clockOf returns times in nanoseconds as a clock of a dtype.
func clockOf(ns []int64, dtype tensor.DType) (*tensor.Tensor, error) {
	switch dtype {
	case tensor.F64:
		sec := make([]float64, len(ns))
		for i, t := range ns {
			sec[i] = float64(t) / 1e9
		}
		return tensor.Of(sec, len(sec))
	case tensor.F32:
		sec := make([]float32, len(ns))
		for i, t := range ns {
			sec[i] = float32(float64(t) / 1e9)
		}
		return tensor.Of(sec, len(sec))
	}
	return tensor.Of(ns, len(ns))
}

// shift gives streams that have an offset times that are later by it. One that the plan takes with several is there several times.
func (a *arranged) shift() error {
	if len(a.plan.Streams) == 0 {
		by := a.plan.Defaults.Offset
		a.plan.Defaults.Offset = 0
		for i := range a.episode.Streams {
			if err := later(&a.episode.Streams[i], by); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range a.plan.Streams {
		s := &a.plan.Streams[i]
		by := a.plan.OffsetOf(i)
		s.Offset = 0
		recorded := a.episode.Stream(fromOf(s))
		if by == 0 || recorded == nil {
			continue
		}
		moved := *recorded
		moved.Name = fmt.Sprintf("%s (offset %v)", recorded.Name, by)
		if err := later(&moved, by); err != nil {
			return err
		}
		a.origin[moved.Name] = a.origin[recorded.Name]
		if a.episode.Stream(moved.Name) == nil {
			a.episode.Streams = append(a.episode.Streams, moved)
		}
		s.From = moved.Name
	}
	a.plan.Defaults.Offset = 0
	return nil
}

// later moves a stream's times.
func later(s *dataset.Stream, by time.Duration) (err error) {
	if by == 0 {
		return nil
	}
	switch s.Times.DType() {
	case tensor.I64:
		s.Times, err = moved(s.Times, int64(by))
	case tensor.F64:
		s.Times, err = moved(s.Times, float64(by)/1e9)
	default:
		s.Times, err = moved(s.Times, float32(float64(by)/1e9))
	}
	return err
}

func moved[T int64 | float64 | float32](times *tensor.Tensor, by T) (*tensor.Tensor, error) {
	list, err := tensor.Data[T](times)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(list))
	for i, t := range list {
		out[i] = t + by
	}
	return tensor.Of(out, len(out))
}

// pick makes a media stream of the frames' numbers that the clock's ticks got, and accounts for the frames.
func pick(s *align.Aligned, m *dataset.Media, times []int64, account *StreamAccount) (out dataset.Media, err error) {
	values, err := tensor.Floats(s.Values)
	if err != nil {
		return out, err
	}
	valid, err := tensor.Data[uint8](s.Valid)
	if err != nil {
		return out, err
	}
	p := &Picked{Recorded: m, Frames: make([]int, len(times)), Valid: valid}
	// Of a tick that has no frame the values are those to fill with. It gets the frame before it, or the first, and is not valid.
	used, recorded, k := make([]bool, m.Len()), s.Recorded.Nanoseconds(), 0
	own, err := tensor.Floats(s.Recorded.Values)
	if err != nil {
		return out, err
	}
	for i := range times {
		for k+1 < len(recorded) && recorded[k+1] <= times[i] {
			k++
		}
		row := values[digits*i : digits*(i+1)]
		n, ok := number(row)
		if !ok || valid[i] == 0 || n >= len(used) {
			n, _ = number(own[digits*k : digits*(k+1)])
		}
		p.Frames[i], used[n] = n, true
	}
	for row, i := range ordered(own) {
		switch t := recorded[row]; { // with the plan's offset
		case used[i]:
			account.Used++
		case len(times) == 0 || t < times[0]:
			account.drop(dataset.CodeBeforeClock, 1)
		case t > times[len(times)-1]:
			account.drop(dataset.CodeAfterClock, 1)
		default:
			account.drop(dataset.CodeBetweenTicks, 1)
		}
	}
	out = dataset.Media{Name: s.Name, Type: m.Type, Times: times, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Source: p}
	if m.IsVideo() {
		out.Encoding = "rgb8"
	}
	return out, nil
}

// number is that of a frame, and false for values that are none.
func number(row []float64) (n int, ok bool) {
	for d, v := range row {
		if !(v >= 0 && v < 256 && v == math.Trunc(v)) {
			return 0, false
		}
		n |= int(v) << (8 * d)
	}
	return n, true
}

// ordered yields the frames' numbers of a stream of them.
func ordered(values []float64) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := 0; i < len(values); i += digits {
			if n, _ := number(values[i : i+digits]); !yield(i/digits, n) {
				return
			}
		}
	}
}

// Picked is the source of a media stream on a plan's clock: row i has frame Frames[i] of Recorded, which may come several times or not at all. Valid[i]
// is 0 where the plan trusts no frame. As a frame belongs to the tick that it was picked for, the stream's times are the clock's; the frame's own is
// Recorded.Times[Frames[i]].
//
// A video's frames need others, so that those of a row cannot be taken out of it as they are: of a video the stream's encoding is rgb8, and ReadFrame
// decodes, quickly when rows are asked for in order.
type Picked struct {
	Recorded *dataset.Media
	Frames   []int
	Valid    []uint8

	mu   sync.Mutex
	at   int // the frame of last
	last *tensor.Tensor
	next func() (*tensor.Tensor, error, bool) // frames from at+1 on
	stop func()
}

// measure finds how large the pictures of a video are whose messages do not say: its first frame is decoded, and kept for the first row.
func measure(ctx context.Context, m *dataset.Media) error {
	p, picked := m.Source.(*Picked)
	if !picked || !p.Recorded.IsVideo() || m.Width > 0 || len(p.Frames) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	image, err := p.decode(ctx, p.Frames[0])
	var bad *dataset.FormatError
	switch {
	case err == nil:
		m.Height, m.Width = image.Dim(0), image.Dim(1)
	case errors.As(err, &bad) && errors.Is(err, dataset.ErrUnsupported) && ofEpisode(err): // so that the target may leave it out
		return nil
	}
	return err
}

// ReadFrame returns the frame of row i.
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

// ahead is how many frames a decoder is let go on to the one that is wanted, before it begins anew there.
const ahead = 300

// decode returns frame n of a video, which is kept for the next row.
func (p *Picked) decode(ctx context.Context, n int) (*tensor.Tensor, error) {
	if p.last != nil && p.at == n {
		return p.last, nil
	}
	if p.next == nil || n <= p.at || n > p.at+ahead {
		p.end()
		p.next, p.stop = iter.Pull2(p.Recorded.DecodeRange(context.WithoutCancel(ctx), n, p.Recorded.Len()))
		p.at = n - 1
	}
	for {
		image, err, ok := p.next()
		if !ok || err != nil {
			p.end()
			if err == nil {
				err = &dataset.RangeError{What: "frame of " + p.Recorded.Name, Got: n, Len: p.at + 1}
			}
			return nil, err
		}
		if p.at++; p.at == n {
			p.last = image
			if n == p.Recorded.Len()-1 {
				p.stop()
				p.next, p.stop = nil, nil
			}
			return image, nil
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
	p.next, p.stop, p.last = nil, nil, nil
}

package align

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// job is an episode with a plan.
type job struct {
	plan    Plan
	snap    ops.Limit
	takes   []take
	notes   dataset.Notes // of the recording
	left    dataset.Notes // streams that are not taken
	clock   ops.Clock
	ticks   ops.Clock // to compute with
	span    Span
	whole   Cover // of the recording
	targets *tensor.Tensor
	fuse    bool
	dtype   tensor.DType // of a Fuse; 0 leaves it to the operation
	before  *Preparer    // what it knows from other recordings
}

// prepare chooses streams, checks what is asked of them together, and makes the clock.
func prepare(e *dataset.Episode, plan Plan, fuse bool) (*job, error) {
	j, err := prepared(e, plan, fuse, nil)
	if err != nil {
		return nil, err
	}
	if err := j.fits(); err != nil {
		return nil, err
	}
	if err := j.makeClock(); err != nil {
		return j, err
	}
	return j, j.makeTargets()
}

// prepared checks the plan and chooses streams.
func prepared(e *dataset.Episode, plan Plan, fuse bool, before *Preparer) (*job, error) {
	if before == nil {
		before = &Preparer{Plan: plan}
	}
	if err := before.check(); err != nil {
		return nil, err
	}
	j := &job{plan: plan, snap: plan.Snap, fuse: fuse, dtype: plan.Defaults.DType, before: before}
	j.snap, _ = Snapping(plan.Snap, plan.Rate) // which was checked
	if err := uniqueNames(e); err != nil {
		return nil, err
	}
	if e.Steps && plan.Targets == nil {
		return nil, &StepsError{plan.Rate}
	}
	return j, j.choose(e)
}

// Snapping returns the snap of a clock of a rate, 0 for one of given times: a microsecond unless given, no limit for one of 0, and no more than half
// a step. One given that is longer would put two targets on one sample, and is a *PlanError.
func Snapping(given ops.Limit, rate float64) (ops.Limit, error) {
	half := time.Duration(math.MaxInt64)
	if rate > 0 {
		half = time.Duration(min(1e9/rate/2, 1e18))
	}
	switch d, ok := given.Get(); {
	case !ok:
		return ops.Within(min(Snap, half)), nil
	case d == 0:
		return ops.Limit{}, nil
	case d > half:
		return given, bad("snap", d.String(), fmt.Sprintf("at most %v, half a step of %g Hz", half, rate))
	}
	return given, nil
}

// StepsError says that a recording cannot be put on a clock of a rate, because its timestamps count steps and nobody says how long one is.
type StepsError struct{ Rate float64 }

func (e *StepsError) Error() string {
	const text = "the recording counts steps and does not say how many a second there are, want their rate"
	if e.Rate == 0 { // of the plan that is to be made
		return text
	}
	return fmt.Sprintf("%g Hz: %s", e.Rate, text)
}

// Unwrap returns ops.ErrMissing.
func (e *StepsError) Unwrap() error { return ops.ErrMissing }

// uniqueNames checks that no two streams of a recording have one name.
func uniqueNames(e *dataset.Episode) error {
	seen := map[string]bool{}
	for _, s := range e.Streams {
		if seen[s.Name] {
			return &StreamError{Stream: s.Name, Got: "two streams of this name", Want: "each name once"}
		}
		seen[s.Name] = true
	}
	return nil
}

// mistake is a mistake in what the plan says of a stream, with its place if the plan was read from a file.
func (j *job) mistake(stream int, key, got, want string) error {
	return j.plan.Mistake(j.plan.Key(stream, key), got, want)
}

// at says where in a plan file a stream that cannot be taken is asked for.
func (j *job) at(stream int, key string, err error) error {
	var s *StreamError
	if errors.As(err, &s) && s.key != "" {
		key = s.key
	}
	return j.plan.At(stream, key, err)
}

// makeClock makes the clock over what the streams cover, unless the plan has targets.
func (j *job) makeClock() error {
	if j.plan.Targets != nil {
		j.clock, j.targets = ops.At(j.plan.Targets), j.plan.Targets
		j.ticks = j.clock
		return nil
	}
	var list []source
	var covers []Cover
	dtype := j.takes[0].stream.Times.DType()
	for _, t := range j.takes {
		if !t.empty {
			cover := t.cover
			if j.plan.Range.Mode == RangeCommon {
				cover = t.core
			}
			list = append(list, source{Cover: cover, onChange: t.onChange, stray: t.core != t.cover || t.jumps != nil})
			covers = append(covers, cover)
		}
	}
	if len(list) == 0 {
		return j.nothing()
	}
	var err error
	j.clock, j.span, err = clockOver(list, j.whole, j.plan.Range, j.plan.Rate, EndSnap(j.snap, dtype, covers))
	return err
}

// makeTargets writes out the clock, if there is room for what comes of it.
func (j *job) makeTargets() error {
	if j.plan.Targets != nil {
		return nil
	}
	if err := j.room(); err != nil {
		return err
	}
	var err error
	j.targets, j.ticks, err = Ticks(j.clock, j.span, j.takes[0].stream.Times.DType())
	return err
}

// EndSnap returns how far after the end of the range a clock's last tick may be: snap, one that Snapping has returned; but where timestamps are float32 no
// less than what that tells apart at the end of what streams cover, since a last frame may have been rounded down by as much.
func EndSnap(snap ops.Limit, dtype tensor.DType, covers []Cover) ops.Limit {
	d, given := snap.Get()
	if dtype != tensor.F32 || !given {
		return snap
	}
	for _, c := range covers {
		last := float32(math.Abs(float64(c.Last) / 1e9))
		spacing := float64(math.Nextafter32(last, math.MaxFloat32)) - float64(last)
		d = max(d, time.Duration(math.Ceil(spacing*1e9)))
	}
	return ops.Within(d)
}

// maxOutput is the most bytes that the results may take: a slip of the finger should not fill the memory.
const maxOutput = 64 << 30

// SizeError says that the results would not fit into the memory.
type SizeError struct {
	Rate        float64
	Targets     int
	Bytes, Most float64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%g Hz: got %d targets that take %.1f GiB, want at most %.1f GiB, what there is here", e.Rate, e.Targets, e.Bytes/(1<<30), e.Most/(1<<30))
}

// Unwrap returns ops.ErrTooLarge.
func (e *SizeError) Unwrap() error { return ops.ErrTooLarge }

// Room returns a *SizeError if a clock's results would not fit: of so many streams with so many columns together, of a dtype.
func Room(clock ops.Clock, streams, columns int, dtype tensor.DType) error {
	size := 8
	if dtype != 0 {
		size = dtype.Size()
	}
	// An age of 8 bytes and two flags beside the values, the times, and as much again for what is counted and written.
	need := 2 * float64(clock.Count) * (float64(columns)*float64(size) + float64(streams)*10 + 8)
	if most := float64(min(maxOutput, tensor.Available())); need > most {
		return &SizeError{clock.Rate, clock.Count, need, most}
	}
	return nil
}

func (j *job) room() error {
	columns := 0
	for _, t := range j.takes {
		columns += len(t.stream.Columns)
	}
	return Room(j.clock, len(j.takes), columns, j.plan.Defaults.DType)
}

// options returns the operation's options for a stream.
func (j *job) options(t *take) ops.ResampleOptions {
	return ops.ResampleOptions{
		Channels: t.channels, Window: t.how.Window, Edge: t.edge, Fill: t.how.Fill, Snap: j.snap,
		MaxGap: t.how.MaxGap, Tolerance: t.how.Tolerance, FillGaps: t.how.FillGaps, DType: t.how.DType,
	}
}

// resolved is how the stream is sampled, with the edge that was chosen for it.
func (t *take) resolved() Sampling {
	s := t.how
	s.Edge = t.edge.String()
	return s
}

// Resample puts each stream that the plan takes on the common clock, in one launch a stream. A mistake in the plan is a *PlanError, a stream that
// cannot be taken so a *StreamError, a clock that cannot be made a *RangeError or *SizeError; nothing is computed then.
func Resample(ctx context.Context, device *ops.Device, e *dataset.Episode, plan Plan) (*Resampled, error) {
	j, err := prepare(e, plan, false)
	if err != nil {
		return nil, err
	}
	out := &Resampled{Clock: j.clock, Times: j.targets, Report: j.report(e)}
	for i := range j.takes {
		t := &j.takes[i]
		opts := j.options(t)
		pad, err := tensor.New(tensor.U8, j.targets.Len())
		if err != nil {
			return nil, err
		}
		args := ops.ResampleArgs{Pad: pad, Src: t.stream.Values, SrcTimes: t.stream.Times, Targets: j.ticks}
		got, err := device.Resample(ctx, args, opts)
		if err != nil {
			return nil, ofStream(t.from, err)
		}
		a := Aligned{Stream: *t.stream, Valid: got.Valid, Age: got.Age, Pad: pad, Channels: opts.Channels, How: t.resolved(), Recorded: t.stream}
		a.Times, a.Values, a.Integers = j.targets, got.Values, nil
		err = out.Report.account(t, &a, j.targets, j.snap, func(n *Narrowed) error {
			wide := opts
			wide.DType = tensor.F64
			return n.Compare(got.Values, j.targets, 0, a.Recorded, func(clock ops.Clock) (*tensor.Tensor, error) {
				again := args
				again.Pad, again.Targets = nil, clock
				out, err := device.Resample(ctx, again, wide)
				return out.Values, err
			})
		})
		if err != nil {
			return nil, err
		}
		out.Streams = append(out.Streams, a)
	}
	return out, ctx.Err()
}

// ofStream names the stream of an operation's error, if the input is its cause.
func ofStream(name string, err error) error {
	var arg *ops.ArgError
	var value *ops.ValueError
	if errors.As(err, &arg) || errors.As(err, &value) {
		return &StreamError{Stream: name, Err: err}
	}
	return fmt.Errorf("stream %s: %w", name, err)
}

package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// open makes a loader with checked options. Function prepare selects the episodes, and sets the feed and the packed tensors and rows of
// the parts.
func open(ctx context.Context, device *ops.Device, plan align.Plan, opt *Options, prepare func(l *Loader, c *selection) error) (l *Loader, err error) {
	// A Draw may start while earlier Fuses run, because they have waited for the Draw before.
	l = &Loader{device: device, order: ops.DrawOptions{
		Rate: plan.Rate, Batch: opt.Batch, Rank: opt.Rank, Ranks: max(opt.Ranks, 1), Last: opt.Last, Shuffle: plan.Shuffle != "none", Seed: opt.Seed, TrustTables: true, Launch: ops.LaunchInputsReady,
	}, age: opt.Age, isApart: opt.Apart}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
			l = nil
		}
	}()
	opt.ShardWindows, opt.MixShards, opt.Workers = cmp.Or(opt.ShardWindows, shardWindows), cmp.Or(opt.MixShards, mixShards), cmp.Or(opt.Workers, runtime.GOMAXPROCS(0))
	switch {
	case opt.Batch < 1 || opt.Batch > math.MaxInt32:
		return l, refuse("Batch", fmt.Sprint(opt.Batch), "1 to 2^31-1")
	case plan.Targets != nil || plan.Rate == 0:
		return l, refuse("plan.rate", "none", "the windows' clock rate")
	case opt.Ranks < 0 || opt.Ranks > math.MaxInt32:
		return l, refuse("Ranks", fmt.Sprint(opt.Ranks), "1 to 2^31-1, or 0 for 1")
	case !opt.Last.Valid():
		return l, refuse("Last", opt.Last.String(), fmt.Sprintf("one of %v", opt.Last.Names()))
	case opt.Rank < 0 || opt.Rank >= l.order.Ranks:
		return l, refuse("Rank", fmt.Sprint(opt.Rank), fmt.Sprintf("0 to %d", l.order.Ranks-1))
	case opt.ShardWindows < 1:
		return l, refuse("ShardWindows", fmt.Sprint(opt.ShardWindows), "1 or more")
	case opt.MixShards < 1:
		return l, refuse("MixShards", fmt.Sprint(opt.MixShards), "1 or more")
	case opt.Workers < 1:
		return l, refuse("Workers", fmt.Sprint(opt.Workers), "1 or more")
	case opt.DropFirst < 0:
		return l, refuse("DropFirst", fmt.Sprint(opt.DropFirst), "0 ticks or more")
	case opt.DropLast < 0:
		return l, refuse("DropLast", fmt.Sprint(opt.DropLast), "0 ticks or more")
	case opt.FrameMemory < 0:
		return l, refuse("FrameMemory", fmt.Sprint(opt.FrameMemory), "1 byte or more, or 0 for half of the free memory")
	case opt.FrameLevel != "" && !slices.Contains(FrameLevels, opt.FrameLevel):
		return l, refuse("FrameLevel", string(opt.FrameLevel), fmt.Sprintf("one of %v, or empty", FrameLevels))
	}
	if l.isUnmade = opt.Unmade; opt.Unmade && opt.FrameLevel == FramesOnDevice {
		return l, refuse("FrameLevel", "device, with Unmade", "pinned, streaming, or empty")
	}
	if plan.Shuffle == "shards" {
		l.order.ShardWindows, l.order.MixShards = opt.ShardWindows, opt.MixShards
		l.report.ShardWindows, l.report.MixShards = opt.ShardWindows, opt.MixShards
	}
	c := &selection{plan: plan, opt: opt, report: &l.report}
	if len(opt.Cameras) > 0 {
		if err := c.splitCameras(l); err != nil {
			return l, err
		}
	}
	if err := prepare(l, c); err != nil {
		return l, err
	}
	l.closers.add(l.feed)
	if err := l.plan(ctx); err != nil {
		return l, err
	}
	if l.films != nil {
		if err := l.planFilms(ctx); err != nil {
			return l, err
		}
		if err := newReel(ctx, l, c); err != nil {
			return l, err
		}
	}
	return l, l.capture()
}

// withStreams returns the plan with the listed streams, if it names none.
func withStreams(plan align.Plan, names []string) align.Plan {
	if len(plan.Streams) == 0 {
		for _, name := range names {
			plan.Streams = append(plan.Streams, align.Stream{Name: name})
		}
	}
	return plan
}

// splitCameras moves the cameras from the selection's plan to its camera plan. An invalid camera is an *OptionError.
func (c *selection) splitCameras(l *Loader) (err error) {
	if c.plan, c.cameras, err = split(c.plan, c.opt.Cameras, c.opt.Seed); err != nil {
		return err
	}
	return c.cameras.checkRoom(l)
}

// checkRoom returns a *FramesError if the host's memory cannot hold the batches' frames. A device reports its own lack of memory when they
// are allocated.
func (f *cameraPlan) checkRoom(l *Loader) error {
	left := tensor.Available()
	for i := range f.cameras {
		deltas, err := deltasOf(&f.whole, f.cameras[i].Name)
		if err != nil {
			return err
		}
		shape := f.cameras[i].shape(l.order.Batch, len(deltas))
		n := int64(l.frameCopies() * f.cameras[i].DType.Size())
		for _, d := range shape {
			if hi, lo := bits.Mul64(uint64(n), uint64(d)); hi == 0 && lo <= math.MaxInt64 {
				n = int64(lo)
			} else {
				n = math.MaxInt64
			}
		}
		if n > left {
			what := fmt.Errorf("there are %d", left)
			return &FramesError{f.cameras[i].Name, shape, l.frameCopies(), &ops.MemoryError{Device: "host", What: "frames", Bytes: n, Err: what}}
		}
		left -= n
	}
	return nil
}

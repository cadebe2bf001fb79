package cuda

import (
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// In kernels for small launches each thread computes one unit and finds its target itself, without a barrier (small.cuh). They lose if
// the device cannot hold the launch at once and the predicted sample is wrong. They also lose if inputs are ready, because only total
// work counts then. Examples: 4 x 100 onto 50 x 32 took 2.83 us by resample_fast and 1.80 here; 128 x 250 onto 128 x 128 took 4.93 and
// 5.28 (bench/history/small-launches.md).
const minSamples = 4 // samples per row

var resampleSmall = &variant{
	name:     "resample_small",
	supports: func(b *gpu, j *backend.FuseJob) string { return notSmall(b, j, true) },
	prefers:  func(b *gpu, j *backend.FuseJob) string { return tooLarge(b, j, ptx.SmallBlocks) },
	heuristic: func(b *gpu, j *backend.FuseJob) tuned.Policy {
		return tuned.Policy{Check: checkPerTurn(threads, j.Clock)}
	},
	configure: configureSmall,
	params:    alignedParams,
}

var fuseSmall = &variant{
	name:      "fuse_small",
	supports:  func(b *gpu, j *backend.FuseJob) string { return notSmall(b, j, false) },
	prefers:   func(b *gpu, j *backend.FuseJob) string { return tooLarge(b, j, ptx.SmallFuseBlocks) },
	heuristic: func(*gpu, *backend.FuseJob) tuned.Policy { return tuned.Policy{Check: checkPerBlock / 4} },
	configure: configureSmall,
	params:    func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) { return alignedStreams(p, j, s), nil },
}

func notSmall(b *gpu, j *backend.FuseJob, single bool) string {
	if why := notAligned(b, j, single); why != "" {
		return why
	}
	for m, l := range layoutsOf(j) {
		r := j.Parts[m].ResampleJob
		if kind, _ := uniform(r.Channels); kind != backend.InterpLinear || r.S < minSamples || r.T < 2 || l.units > ptx.SmallMakers || pointer(r.SrcTimes)%chunk != 0 {
			return "an interpolation that is not linear, few samples, rows of many units, or timestamps that are not aligned"
		}
	}
	return ""
}

func tooLarge(b *gpu, j *backend.FuseJob, blocks int) string {
	checks := 0
	for _, p := range j.Parts {
		checks += smallCheckBlocks(p.ResampleJob)
	}
	switch {
	case inputsReady(j):
		return "inputs that are ready"
	case j.Rows()*unitsOf(j) > blocks*ptx.SmallMakers*b.sms || checks > blocks*b.sms:
		return "more blocks than the device holds at once"
	}
	return ""
}

func configureSmall(b *gpu, j *backend.FuseJob, c tuned.Policy) (list []shape) {
	for m, l := range layoutsOf(j) {
		r := j.Parts[m].ResampleJob
		s := b.grid(r, c.Check, shape{threads: ptx.SmallThreads, chunks: l.units, tile: ptx.SmallMakers / l.units})
		s.blocks = max(s.blocks, smallCheckBlocks(r))
		list = append(list, s)
	}
	return list
}

// smallCheckBlocks returns the blocks that a small launch needs to check a stream's timestamps. In each block one warp checks 16 bytes
// per thread.
func smallCheckBlocks(j *backend.ResampleJob) int {
	if !j.Check {
		return 0
	}
	once := warp * chunk / j.ClockType().Size()
	return (j.Timestamps() + once - 1) / once
}

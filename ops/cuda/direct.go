package cuda

import (
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// A direct launch is a small one of rows of whole units, in which each thread makes one unit and finds its target for itself (direct.cuh). A
// launch that the device does not hold at once loses where the guess is wrong, and so does one whose inputs are ready, where the work in all
// counts: 4 x 100 onto 50 x 32 took 2.83 us, and 1.80 direct; 128 x 250 onto 128 x 128 4.93, and 5.28 direct (RATIONALE).
const leastDirect = 4 // samples of a row

var resampleDirect = &variant{
	name:    "resample_direct",
	takes:   func(b *gpu, j *backend.FuseJob) string { return notDirect(b, j, true) },
	prefers: func(b *gpu, j *backend.FuseJob) string { return notSmall(b, j, ptx.DirectBlocks) },
	model: func(b *gpu, j *backend.FuseJob) tuned.Choice {
		return tuned.Choice{Check: oneTurn(threads, j.Clock)}
	},
	cut:    cutDirect,
	params: wholeParams,
}

var fuseDirect = &variant{
	name:    "fuse_direct",
	takes:   func(b *gpu, j *backend.FuseJob) string { return notDirect(b, j, false) },
	prefers: func(b *gpu, j *backend.FuseJob) string { return notSmall(b, j, ptx.DirectFuseBlocks) },
	model:   func(*gpu, *backend.FuseJob) tuned.Choice { return tuned.Choice{Check: checkShare / 4} },
	cut:     cutDirect,
	params:  func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) { return wholeStreams(p, j, s), nil },
}

func notDirect(b *gpu, j *backend.FuseJob, alone bool) string {
	if why := notWhole(b, j, alone); why != "" {
		return why
	}
	for m, l := range layoutsOf(j) {
		r := j.Parts[m].ResampleJob
		if kind, _ := uniform(r.Channels); kind != backend.InterpLinear || r.S < leastDirect || r.T < 2 || l.units > ptx.DirectMakers || pointer(r.SrcTimes)%chunk != 0 {
			return "a kind that is not linear, few samples, rows of many units, or stamps that begin anywhere"
		}
	}
	return ""
}

func notSmall(b *gpu, j *backend.FuseJob, blocks int) string {
	checks := 0
	for _, p := range j.Parts {
		checks += directChecks(p.ResampleJob)
	}
	switch {
	case ready(j):
		return "inputs that are ready"
	case j.Rows()*unitsOf(j) > blocks*ptx.DirectMakers*b.sms || checks > blocks*b.sms:
		return "more blocks than the device holds at once"
	}
	return ""
}

func cutDirect(b *gpu, j *backend.FuseJob, c tuned.Choice) (list []shape) {
	for m, l := range layoutsOf(j) {
		r := j.Parts[m].ResampleJob
		s := b.grid(r, c.Check, shape{threads: ptx.DirectThreads, chunks: l.units, tile: ptx.DirectMakers / l.units})
		s.blocks = max(s.blocks, directChecks(r))
		list = append(list, s)
	}
	return list
}

// directChecks is how many blocks of a direct launch it takes to check a stream's stamps, 16 bytes for each thread of one warp.
func directChecks(j *backend.ResampleJob) int {
	if !j.Check {
		return 0
	}
	once := warp * chunk / j.ClockType().Size()
	return (j.Timestamps() + once - 1) / once
}

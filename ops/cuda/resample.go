package cuda

import (
	"github.com/robocache/robocache/ops/backend"
)

// resampleVariants are the variants of Resample in the order in which they are tried: the first that takes a job and is preferred for it is launched. Explain, and robocache bench
// --explain, say of each why it was not.
var resampleVariants = []*variant{
	resampleSmall, resampleFast, resampleThreadPerRow, resampleUnaligned, fuseSmall, fuseFastFew, fuseUnalignedFew, // the fast path
	resampleChannels, resampleChannelsF64, resampleCurves, resampleCurvesF64, // channels with interpolations of their own
	resampleGeneral, resampleF64, // all others
}

func (b *gpu) Resample(job *backend.ResampleJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	if job.Idle() {
		return p, nil
	}
	p.explain = func(f backend.Fault) error { return job.FaultError(f, b.Offsets) }
	return p.prepare(func() error {
		if job.Empty() {
			return p.bindCheck(job)
		}
		return p.bind("Resample", resampleVariants, singleStream(job))
	})
}

package cuda

import (
	"github.com/robocache/robocache/ops/backend"
)

// resampleVariants lists the variants of Resample in the order in which they are tried. The first variant that supports a job and is
// preferred for it is launched. Explain, and robocache bench --explain, report why the others were not.
var resampleVariants = []*variant{
	resampleSmall, resampleFast, resampleThreadPerRow, resampleUnaligned, fuseSmall, fuseFastFew, fuseUnalignedFew, // the fast path
	resampleChannels, resampleChannelsF64, resampleCurves, resampleCurvesF64, // channels with different interpolations
	resampleGeneral, resampleF64, // all other jobs
}

func (b *gpu) Resample(job *backend.ResampleJob) (backend.Plan, error) {
	return b.prepared(job, func(p *plan) error {
		if job.Empty() {
			return p.bindCheck(job)
		}
		return p.bind("Resample", resampleVariants, singleStream(job))
	})
}

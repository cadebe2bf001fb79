package cuda

import (
	"errors"

	"github.com/robocache/robocache/ops"
)

// resampleVariants are the ways to launch a Resample: the first that takes a job and is preferred for it is launched. Explain, and robocache bench
// --explain, say of each why it was not.
var resampleVariants = []*variant{
	resampleDirect, resamplePlain, resamplePoses, resampleRun, fuseDirect, fusePlainFew, fuseOddFew, // plain jobs
	resampleChannels, resampleChannelsF64, resampleCurves, resampleCurvesF64, // rows of several kinds
	resampleGeneral, resampleF64, // all others
}

func (b *backend) Resample(job *ops.ResampleJob) (ops.Plan, error) {
	p := &plan{planBase: planBase{b: b, bound: job.Bound()}}
	if job.Idle() {
		return p, nil
	}
	p.explain = func(f ops.Fault) error {
		srcOffsets, err1 := b.offsets(job.SrcOffsets)
		dstOffsets, err2 := b.offsets(job.DstOffsets)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return job.FaultError(f, srcOffsets, dstOffsets)
	}
	return p.ready(func() (err error) {
		if job.Empty() {
			p.kernel, err = p.bindCheck(job)
			return err
		}
		return p.bind("Resample", resampleVariants, alone(job))
	})
}

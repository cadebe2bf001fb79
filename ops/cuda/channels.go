package cuda

import (
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// The channels kernels (channels.cuh) compute rows item by item if channels have different interpolations. resample_channels handles
// quaternions, angles, and interpolations that only copy or blend samples. resample_curves handles every interpolation but needs more
// memory and code. Example: 64 x 1000 onto 500 x 40 with a quaternion and 6 angles took 12.8 us, and 14.5 us by resample_curves.
var (
	resampleChannels    = channelsVariant("resample_channels", false, false)
	resampleChannelsF64 = channelsVariant("resample_channels_f64", false, true)
	resampleCurves      = channelsVariant("resample_curves", true, false)
	resampleCurvesF64   = channelsVariant("resample_curves_f64", true, true)
)

func channelsVariant(name string, curves, wide bool) *variant {
	return &variant{
		name: name,
		supports: perStream(func(j *backend.ResampleJob) string {
			_, one := uniform(j.Channels)
			categories := countItems(j.Channels)
			switch {
			case one:
				return "one interpolation that looks at no value"
			case wide != (j.Src.DType() == tensor.F64):
				return "values of another width"
			case !curves && categories.of[cubics]+categories.of[others] > 0:
				return "an interpolation that only resample_curves has"
			}
			return ""
		}),
		tunable: tuned.SearchSpace{Tile: []int{4, 8, 16, warp, 64, ptx.ItemTile, ptx.MaxTile}},
		heuristic: func(b *gpu, j *backend.FuseJob) tuned.Policy {
			return tuned.Policy{Tile: ptx.MaxTile, Check: checkPerTurn(threads, j.Clock)}
		},
		configure: func(b *gpu, j *backend.FuseJob, c tuned.Policy) []shape {
			return []shape{b.configureItems(first(j), first(j).Channels, c.Check, c.Tile, false)}
		},
		params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
			r, categories := first(j), countItems(first(j).Channels)
			if err := p.upload(itemTable(r, r.Channels, j.Clock)); err != nil {
				return nil, err
			}
			return &ptx.ChannelsJob{Job: p.resampleJob(r, 0, s[0], r.Rows()), Shortest: lengthBits(r.WindowFrom(r.ShortestWindow()), j.Clock), Items: uint64(p.table.Ptr()),
				ItemsOf: categories.categories(categories.cubicTargets(s[0].threads, s[0].tile, float64(samplesPerTarget(r))))}, nil
		},
	}
}

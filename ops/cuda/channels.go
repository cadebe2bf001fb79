package cuda

import (
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// Rows whose ranges of features have kinds of their own are made item by item (channels.cuh). resample_channels makes quaternions, angles and the kinds
// that look at no value; resample_curves every kind, which takes more memory and code: 64 x 1000 onto 500 x 40 with a quaternion and 6 angles 12.8 us,
// and 14.5 by resample_curves.
var (
	resampleChannels    = channelsVariant("resample_channels", false, false)
	resampleChannelsF64 = channelsVariant("resample_channels_f64", false, true)
	resampleCurves      = channelsVariant("resample_curves", true, false)
	resampleCurvesF64   = channelsVariant("resample_curves_f64", true, true)
)

func channelsVariant(name string, curves, wide bool) *variant {
	return &variant{
		name: name,
		takes: perStream(func(j *backend.ResampleJob) string {
			_, one := uniform(j.Channels)
			sorts := countItems(j.Channels)
			switch {
			case one:
				return "one kind that looks at no value"
			case wide != (j.Src.DType() == tensor.F64):
				return "values of another width"
			case !curves && sorts.of[cubics]+sorts.of[others] > 0:
				return "a kind that only resample_curves makes"
			}
			return ""
		}),
		free: tuned.Freedom{Tile: []int{4, 8, 16, warp, 64, ptx.ItemTile, ptx.MostTile}},
		model: func(b *gpu, j *backend.FuseJob) tuned.Choice {
			return tuned.Choice{Tile: ptx.MostTile, Check: oneTurn(threads, j.Clock)}
		},
		cut: func(b *gpu, j *backend.FuseJob, c tuned.Choice) []shape {
			return []shape{b.cutItems(first(j), first(j).Channels, c.Check, c.Tile, false)}
		},
		params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
			r, sorts := first(j), countItems(first(j).Channels)
			if err := p.upload(itemTable(r, r.Channels, j.Clock)); err != nil {
				return nil, err
			}
			return &ptx.ChannelsJob{Job: p.resampleJob(r, 0, s[0], r.Rows()), Shortest: lengthBits(r.WindowFrom(r.ShortestWindow()), j.Clock), Items: uint64(p.table.Ptr()),
				ItemsOf: sorts.sorts(sorts.run(s[0].threads, s[0].tile, float64(pace(r))))}, nil
		},
	}
}

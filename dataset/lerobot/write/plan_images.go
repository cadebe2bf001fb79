package write

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// addImages reads a media stream's frames and adds them as an image column.
func (p *episodePlan) addImages(ctx context.Context, name string, m *dataset.Media) error {
	var f *feature
	data := parquet.Values{Images: make([]parquet.Image, m.Len())}
	stats := featureStats{}
	sampled := sampleFrames(m.Len())
	early, bad := 0, badFrames{p, m.Name, 0}
	for i := range data.Images {
		frame, err := m.Frame(ctx, i)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var pic *picture
		if err != nil {
			err = &Error{Kind: dataset.ErrMissing, Got: fmt.Sprintf("frame %d cannot be read", i), Err: err}
		} else if pic, err = pictureOf(ctx, m, frame); err != nil {
			err = inFrame(i, err)
		}
		if err == nil && f == nil {
			f = &feature{name: name, dtype: dtypeImage, shape: pic.shape(), names: imageNames, depth: DepthInfo(m), unmeasured: m.Encoding == "tiff"}
			if !f.unmeasured {
				stats.levels = make([]summary.Levels, pic.channels)
			}
		}
		if err == nil && tensor.FormatShape(pic.shape()) != tensor.FormatShape(f.shape) {
			err = inFrame(i, &Error{
				Kind: dataset.ErrShape, Got: tensor.FormatShape(pic.shape()),
				Want: tensor.FormatShape(f.shape) + ", as the first frame",
			})
		}
		sample := len(sampled) > 0 && sampled[0] == i
		if sample {
			sampled = sampled[1:]
		}
		if err == nil && sample && !f.unmeasured {
			if err = pic.count(ctx, m, frame, stats.levels); err != nil {
				err = inFrame(i, err)
			} else {
				stats.frames++
			}
		} else if err == nil && (m.Encoding == "png" || m.Encoding == "jpeg") && !m.IsWhole(frame) {
			// A bad frame counts, whether or not it is in the statistics.
			if _, err = decodeFrame(ctx, m, frame); err != nil {
				err = inFrame(i, err)
			}
		}
		if err != nil && !bad.pass(i, err) {
			return err
		}
		switch {
		case err == nil:
			data.Images[i] = parquet.Image{Bytes: pic.encoded, Path: fmt.Sprintf("frame-%06d.%s", i, pic.extension)}
			for ; early > 0; early-- {
				data.Images[i-early] = data.Images[i]
			}
		case i == early:
			early++
		default:
			data.Images[i] = data.Images[i-1]
		}
	}
	stats.finish()
	p.features = append(p.features, plannedFeature{feature: f, stats: stats, data: data})
	return nil
}

package write

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// addImages reads a media stream's frames and adds them as a column of images.
func (p *episodePlan) addImages(ctx context.Context, name string, m *dataset.Media) error {
	var f *feature
	data := parquet.Values{Images: make([]parquet.Image, m.Len())}
	stats := featureStats{}
	sampled := sampleFrames(m.Len())
	for i := range data.Images {
		frame, err := m.Frame(ctx, i)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return &Error{Kind: dataset.ErrMissing, Got: fmt.Sprintf("frame %d cannot be read", i), Err: err}
		}
		pic, err := pictureOf(ctx, m, frame)
		if err == nil && f == nil {
			f = &feature{name: name, dtype: dtypeImage, shape: pic.shape(), names: imageNames}
			stats.levels = make([]summary.Levels, pic.channels)
		}
		if err == nil && tensor.FormatShape(pic.shape()) != tensor.FormatShape(f.shape) {
			err = &Error{
				Kind: dataset.ErrShape, Got: tensor.FormatShape(pic.shape()),
				Want: tensor.FormatShape(f.shape) + ", as the first frame",
			}
		}
		if err == nil && len(sampled) > 0 && sampled[0] == i {
			sampled = sampled[1:]
			stats.frames++
			err = pic.count(ctx, m, frame, stats.levels)
		}
		if err != nil {
			return inFrame(i, err)
		}
		data.Images[i] = parquet.Image{Bytes: pic.encoded, Path: fmt.Sprintf("frame-%06d.%s", i, pic.extension)}
	}
	stats.finish()
	p.features = append(p.features, plannedFeature{feature: f, stats: stats, data: data})
	return nil
}

package convert

import (
	"slices"

	"github.com/robocache/robocache/dataset"
)

// weights returns the share of each episode in all. An input weighs as much as its stated frames, or, if an input states none, as its
// files. Its episodes divide that weight by their own weights.
func weights(list []input) []float64 {
	framed := !slices.ContainsFunc(list, func(in input) bool { return in.info.Frames <= 0 && in.from.Len() > 0 })
	var all []float64
	for i := range list {
		in := &list[i]
		n, size := in.from.Len(), int64(in.info.Frames)
		if !framed {
			size = 0
			for _, f := range in.files {
				size += f.Bytes
			}
		}
		own := slices.Repeat([]int64{1}, n)
		if w, ok := in.from.(dataset.Weigher); ok {
			own = w.Weights()
		}
		total := 0.0
		for _, w := range own {
			total += float64(w)
		}
		for _, w := range own {
			all = append(all, float64(max(size, 1))*float64(w)/max(total, 1))
		}
	}
	return all
}

// runs returns the first episode of each shard, and the end of the last. The weights are cut into equal parts, and an episode
// belongs to the shard that contains its middle.
func runs(weights []float64, shards int) []int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	begins, sum := make([]int, 1, shards+1), 0.0
	for i, w := range weights {
		middle := (sum + w/2) / max(total, 1e-300) * float64(shards)
		for len(begins) < shards && middle >= float64(len(begins)) {
			begins = append(begins, i)
		}
		sum += w
	}
	for len(begins) <= shards {
		begins = append(begins, len(weights))
	}
	return begins
}

package store

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// Size is the size of packed frames in pixels.
type Size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

// sizes lists media streams with their sizes, for example "front=64x48".
func sizes(of map[string]Size) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, fmt.Sprintf("%s=%v", name, of[name]))
	}
	return list
}

// runs returns the first frame of each run that one goroutine decodes, and the number of frames.
func runs(ctx context.Context, m *dataset.Media) []int {
	begins := []int{0}
	for at := 0; at < m.Len(); begins = append(begins, at) {
		_, to, err := video.GroupOf(ctx, m.Source, m.Len(), at)
		if err != nil { // decoding finds it, too
			to = m.Len()
		}
		at = to
	}
	return begins
}

// frames decodes a media stream's frames in parallel, and yields the bytes of each [Height,Width,3] in order, or its error.
func (s Size) frames(ctx context.Context, m *dataset.Media, workers int) iter.Seq2[[]byte, error] {
	type run struct {
		frames [][]byte
		errs   []error
	}
	return func(yield func([]byte, error) bool) {
		begins := runs(ctx, m)
		for _, r := range inorder.Each(ctx, len(begins)-1, workers, workers, func(run) int { return workers }, func(ctx context.Context, k int) (r run) {
			n := begins[k+1] - begins[k]
			last := error(&dataset.FormatError{
				Format: "video", Offset: -1, Kind: dataset.ErrMissing, Msg: "frames of " + m.Name, Got: "fewer", Want: fmt.Sprint(n),
			})
			for picture, err := range m.DecodeRange(ctx, begins[k], begins[k+1]) {
				frame, err := s.decode(picture, err)
				if r.frames, r.errs = append(r.frames, frame), append(r.errs, err); err != nil {
					last = err
				}
			}
			for len(r.errs) < n { // a video ends early after an error that its later frames would have, too
				r.frames, r.errs = append(r.frames, nil), append(r.errs, last)
			}
			return r
		}) {
			for i, err := range r.errs {
				if !yield(r.frames[i], err) {
					return
				}
			}
		}
	}
}

// decode resizes a decoded picture, and returns its bytes [Height,Width,3].
func (s Size) decode(picture *tensor.Tensor, err error) ([]byte, error) {
	if err == nil {
		picture, err = dataset.RGB(picture)
	}
	if err != nil {
		return nil, err
	}
	frame := make([]byte, s.Height*s.Width*3)
	dst, err := tensor.Of(frame, s.Height, s.Width, 3)
	if err == nil {
		err = dataset.Resize(dst, picture)
	}
	return frame, err
}

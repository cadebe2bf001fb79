package video

import (
	"context"
	"errors"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// Planes decodes the frames with the given ascending ranks, and calls show for each one, in decoding order, with its rank as the number. It
// stops at the first error of show, and when ctx ends. Pictures may be on j.Device.
func (j *Job) Planes(ctx context.Context, ranks []int32, show Show) error {
	left, library := slices.Clone(ranks), ""
	for _, d := range registered() {
		_, err := j.feed(ctx, d, j.Device, 0, ranks, &left, show)
		var refused *Refusal
		if !errors.As(err, &refused) {
			return err
		}
		if refused.Reason == NoLibrary || refused.Reason == OldLibrary {
			library = d.Library
		}
	}
	rest := *j
	rest.Fail = func(place int) *dataset.FormatError {
		if place >= 0 {
			place = slices.Index(ranks, left[place])
		}
		return j.Fail(place)
	}
	_, err := (&cursor{job: &rest, ranks: left}).run(ctx, library, show)
	return err
}

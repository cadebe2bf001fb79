package video

import (
	"context"
	"errors"
	"slices"
)

// Planes decodes the frames with the given ascending ranks, and calls show for each one, in decoding order, with its rank as the number. It
// stops at the first error of show, and when ctx ends. Pictures may be on j.Device.
func (j *Job) Planes(ctx context.Context, ranks []int32, show Show) error {
	left, library := slices.Clone(ranks), ""
	for _, d := range registered() {
		err := j.feed(ctx, d, &left, show)
		var refused *Refusal
		if !errors.As(err, &refused) {
			return err
		}
		if refused.Reason == NoLibrary || refused.Reason == OldLibrary {
			library = d.Library
		}
	}
	_, err := (&cursor{job: j, ranks: left}).run(ctx, library, show)
	return err
}

// feed decodes the ranks that are left with a driver. The error is a *Refusal if the driver does not decode the stream.
func (j *Job) feed(ctx context.Context, driver Driver, left *[]int32, show Show) error {
	d, err := driver.Open(j.stream(j.Device))
	if err != nil {
		return err
	}
	defer d.Close()
	shown := func(number int64, p *Planes, err error) error {
		rank := j.Packets[number].Rank
		i, wanted := slices.BinarySearch(*left, rank)
		if !wanted {
			return nil
		}
		*left = slices.Delete(*left, i, i+1)
		if err == nil {
			j.colour(p)
		}
		return show(int64(rank), p, err)
	}
	var packet []byte
	for i := range j.Packets {
		if len(*left) == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		if packet, err = j.read(ctx, i, packet); err != nil {
			return err
		}
		if err = d.Decode(packet, int64(i), shown); err != nil {
			return err
		}
	}
	if err := d.Flush(shown); err != nil {
		return err
	}
	for _, rank := range slices.Clone(*left) {
		if err := show(int64(rank), nil, ErrNoPicture); err != nil {
			return err
		}
	}
	return nil
}

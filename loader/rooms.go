package loader

import (
	"context"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// target is the place of a stored frame. done is called when it is there.
type target struct {
	frame *tensor.Tensor // u8 [h,w,3], or [h*3/2,w] for 4:2:0
	done  func()         // may be nil
}

// places are the places of some frames, by their numbers in the episode.
type places interface {
	// of returns a frame's place. skip follows a frame that cannot be decoded.
	of(ctx context.Context, frame int) (target, error)
	skip(frame int)
}

// inStore are places in a tensor.
type inStore func(frame int) *tensor.Tensor

func (p inStore) of(_ context.Context, frame int) (target, error) {
	return target{frame: p(frame)}, nil
}

func (p inStore) skip(int) {}

// rooms are places in a keeper's rooms.
type rooms struct {
	keeper Keeper
	camera int
	frames []int            // ascending
	place  int              // of the first one
	rooms  []*tensor.Tensor // for KeptTogether frames each
	left   []int            // frames that are not ready yet
}

func newRooms(k Keeper, camera int, frames []int, place int) *rooms {
	r := &rooms{keeper: k, camera: camera, frames: frames, place: place}
	for n := len(frames); n > 0; n -= KeptTogether {
		r.left = append(r.left, min(n, KeptTogether))
	}
	r.rooms = make([]*tensor.Tensor, len(r.left))
	return r
}

func (r *rooms) of(ctx context.Context, frame int) (t target, err error) {
	k, _ := slices.BinarySearch(r.frames, frame)
	room := k / KeptTogether
	if r.rooms[room] == nil {
		if r.rooms[room], err = r.keeper.Room(ctx, r.camera, min(KeptTogether, len(r.frames)-room*KeptTogether)); err != nil {
			return t, err
		}
	}
	return target{rowOf(r.rooms[room], k%KeptTogether), func() { r.skip(frame) }}, nil
}

// skip counts a frame as ready, and gives its room to the keeper if it is the last one there.
func (r *rooms) skip(frame int) {
	k, _ := slices.BinarySearch(r.frames, frame)
	room := k / KeptTogether
	if r.left[room]--; r.left[room] == 0 && r.rooms[room] != nil {
		r.keeper.Keep(Kept{Camera: r.camera, Room: r.rooms[room], Place: r.place + room*KeptTogether})
	}
}

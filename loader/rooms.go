package loader

import (
	"context"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// target is the memory for a stored frame. done is called when the frame is there.
type target struct {
	frame *tensor.Tensor // u8 [h,w,3], or [h*3/2,w] for 4:2:0
	done  func()         // may be nil
}

// places has the targets for some frames, by frame number in the episode.
type places interface {
	// of returns a frame's target. If the frame cannot be decoded, skip is called, perhaps without a call to of.
	of(ctx context.Context, frame int) (target, error)
	skip(frame int)
}

// inStore has targets in a tensor.
type inStore func(frame int) *tensor.Tensor

func (p inStore) of(_ context.Context, frame int) (target, error) {
	return target{frame: p(frame)}, nil
}

func (p inStore) skip(int) {}

// rooms has targets in a keeper's rooms.
type rooms struct {
	keeper Keeper
	camera int
	frames []int            // ascending
	place  int              // the first frame's
	rooms  []*tensor.Tensor // for KeptTogether frames each
	left   []int            // by room: frames that are not ready yet
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

// skip counts a frame as ready. If it is the last one in its room, the keeper gets the room.
func (r *rooms) skip(frame int) {
	k, _ := slices.BinarySearch(r.frames, frame)
	room := k / KeptTogether
	if r.left[room]--; r.left[room] == 0 && r.rooms[room] != nil {
		r.keeper.Keep(Kept{Camera: r.camera, Room: r.rooms[room], Place: r.place + room*KeptTogether})
	}
}

package faultsweep

import (
	"context"
	"fmt"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// draw calls Dev.Draw once on host tensors. A batch has more windows than one block draws, so that the blocks wait for each other
// before they move the cursor.
func draw(dev *ops.Device) error {
	table := func(x ...int64) *tensor.Tensor { return tensor.Must(tensor.Of(x, len(x))) }
	cursor := table(0, 2)
	out, err := dev.Draw(context.Background(), ops.DrawArgs{Cursor: cursor, Windows: table(0, 3, 3, 8), Begins: table(0, 10, 20), Streams: []ops.DrawStream{{Offsets: table(0, 5, 6, 9)}}},
		ops.DrawOptions{Rate: 1e9, Count: 8, Batch: 5})
	if err != nil {
		return err
	}
	for _, x := range []struct {
		name string
		t    *tensor.Tensor
		want []int64
	}{{"Anchors", out.Anchors, []int64{2, 20, 21, 22, 23}}, {"Starts", out.Streams[0].Starts, []int64{0, 6, 6, 6, 6}}, {"Lengths", out.Streams[0].Lengths, []int64{5, 3, 3, 3, 3}}, {"Cursor", cursor, []int64{0, 7}}} {
		got, err := tensor.Data[int64](x.t)
		if err != nil {
			return err
		}
		if !slices.Equal(got, x.want) {
			return fmt.Errorf("draw: %s: got %v, want %v", x.name, got, x.want)
		}
	}
	return nil
}

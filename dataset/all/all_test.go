package all

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
)

func TestEveryFormatIsThere(t *testing.T) {
	var names []string
	for _, f := range dataset.Formats() {
		names = append(names, f.Name)
	}
	assert.Equal(t, []string{"aloha", "calvin", "csv", "hdf5", "isaaclab", "lerobot", "mcap", "npz", "rlds", "robomimic", "rosbag", "rosbag2", "safetensors", "tum", "ulog", "zarr"}, names)
}

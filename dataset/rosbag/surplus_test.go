package rosbag

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// ROS 1 ignores bytes after a message, such as those that rosserial sends.
func TestBytesAfterAMessageAreCounted(t *testing.T) {
	const path = "../../../shared/cases/ros1-trailing-bytes/rosserial.bag"
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	d, err := dataset.Open(t.Context(), path, dataset.Options{})
	require.NoError(t, err)
	e, err := d.Episode(t.Context(), 0)
	require.NoError(t, err)
	n := e.Notes.Find(dataset.CodeMessageSurplus)
	require.NotNil(t, n)
	assert.Equal(t, []any{"/left_wheel_angle_vel", 50, int64(50)}, []any{n.Subject, n.Count, n.Bytes})
	require.NoError(t, d.Close())
}

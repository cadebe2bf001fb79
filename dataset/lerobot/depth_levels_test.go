package lerobot

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDepthLevels(t *testing.T) {
	levels := depthLevels(`{"is_depth_map": true}`)
	require.Len(t, levels, 4096)
	assert.Equal(t, []float32{0, 10}, []float32{levels[0], levels[4095]})
	for z := 0.05; z < 10; z += 0.05 { // LeRobot rounds to the nearest level; a step is 0.00033 in log(z + 3.5)
		level := int(math.Round(math.Log((z+3.5)/3.51) / math.Log(13.5/3.51) * 4095))
		assert.InDelta(t, z, levels[level], 0.00017*(z+3.5))
	}
	linear := depthLevels(`{"video.depth_min": 1, "video.depth_max": 4096, "video.use_log": false}`)
	assert.Equal(t, []float32{0, 2, 4096}, []float32{linear[0], linear[1], linear[4095]})
	for _, info := range []string{`{"depth_min": 4, "depth_max": 3}`, `{"depth_min": -1}`, `{"shift": -1}`, `{"shift": 1e300}`} {
		assert.Nil(t, depthLevels(info), info)
	}
}

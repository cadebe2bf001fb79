package lerobot

import (
	"cmp"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/orderjson"
)

// depthLevels returns the metres for each of the 4096 levels in a depth map with 12 bits, or nil if its info in info.json is invalid. A
// level is linear in log(depth + shift), or in the depth unless use_log, from depth_min to depth_max. Level 0 has no depth, because the
// writer clamps missing depths, 0, to it. Source: LeRobot's depth_utils.py, 0.6.
func depthLevels(info string) []float32 {
	about, _ := orderjson.Members([]byte(info))
	value := func(name string, otherwise float64) float64 {
		for _, key := range []string{name, "video." + name} {
			if v, ok := number(get(about, key)); ok {
				return v
			}
		}
		return otherwise
	}
	near, far, shift := value("depth_min", 0.01), value("depth_max", 10), value("shift", 3.5)
	linear := cmp.Or(string(get(about, "use_log")), string(get(about, "video.use_log"))) == "false"
	from, to := near, far
	if !linear {
		from, to = math.Log(near+shift), math.Log(far+shift)
	}
	if !(near >= 0 && near < far && to-from > 0 && to-from < math.MaxFloat32) {
		return nil
	}
	levels := make([]float32, 4096)
	for i := 1; i < len(levels); i++ {
		v := from + (to-from)*float64(i)/4095
		if !linear {
			v = math.Exp(v) - shift
		}
		levels[i] = float32(min(max(v, near), far))
	}
	return levels
}

// depthCamera describes depth images with 16 bits, which are millimetres unless their info declares metres.
func depthCamera(info string) *dataset.DepthCamera {
	about, _ := orderjson.Members([]byte(info))
	if unit, _ := text(get(about, "depth_unit")); unit == "m" {
		return &dataset.DepthCamera{Scale: 1}
	}
	return &dataset.DepthCamera{Scale: 0.001}
}

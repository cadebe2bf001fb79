package depth_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align/depth"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Frames of a Kinect in a real room, in the benchmark's layout: points of one frame, moved to the world by its pose, lie where another frame measures them. The poses return as recorded,
// and the last frame sees another part of the room.
func TestFramesOfARealRoomAgree(t *testing.T) {
	ctx := context.Background()
	const scene = "../../../shared/data/threedmatch_rgbd"
	if _, err := os.Stat(scene); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	dir := t.TempDir()
	var list, trajectory strings.Builder
	var recorded [][]float64
	for _, n := range []int{0, 1, 2, 116, 422} {
		name := fmt.Sprintf("frame-%06d", n)
		b, err := os.ReadFile(filepath.Join(scene, "seq-01", name+".depth.png"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), b, 0o600))
		text, err := os.ReadFile(filepath.Join(scene, "seq-01", name+".pose.txt"))
		require.NoError(t, err)
		var m []float64
		for _, word := range strings.Fields(string(text)) {
			v, err := strconv.ParseFloat(word, 64)
			require.NoError(t, err)
			m = append(m, v)
		}
		recorded = append(recorded, m)
		// Each row is a multiple of the quaternion x, y, z, w; the longest is the most exact.
		rows := [4][4]float64{{1 + m[0] - m[5] - m[10], m[1] + m[4], m[2] + m[8], m[9] - m[6]}, {m[1] + m[4], 1 - m[0] + m[5] - m[10], m[6] + m[9], m[2] - m[8]},
			{m[2] + m[8], m[6] + m[9], 1 - m[0] - m[5] + m[10], m[4] - m[1]}, {m[9] - m[6], m[2] - m[8], m[4] - m[1], 1 + m[0] + m[5] + m[10]}}
		q, length := rows[0], 0.0
		for _, row := range rows {
			if n := math.Sqrt(row[0]*row[0] + row[1]*row[1] + row[2]*row[2] + row[3]*row[3]); n > length {
				q, length = row, n
			}
		}
		at := float64(n) / 30
		fmt.Fprintf(&list, "%.6f %s.png\n", at, name)
		fmt.Fprintf(&trajectory, "%.6f %v %v %v %v %v %v %v\n", at, m[3], m[7], m[11], q[0]/length, q[1]/length, q[2]/length, q[3]/length)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "depth.txt"), []byte(list.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "groundtruth.txt"), []byte(trajectory.String()), 0o600))
	k := [4]float64{570.342205, 570.342205, 320, 240}
	s, err := depth.Open(ctx, cpu(t), episode(t, dir, ""), depth.Options{Intrinsics: k, Scale: 0.001})
	require.NoError(t, err)
	require.Equal(t, depth.Counts{Images: 5}, s.Counts)

	points := func(i int) ([]float32, *depth.Frame) {
		f, err := s.Frame(ctx, i)
		require.NoError(t, err)
		assert.InDeltaSlice(t, recorded[i], f.Pose[:], 1e-4)
		h, w := f.Depth.Dim(0), f.Depth.Dim(1)
		out := tensor.Must(tensor.New(tensor.F32, 1, h, w, 3))
		require.NoError(t, cpu(t).Deproject(ctx, ops.DeprojectArgs{
			Points: out, Depth: tensor.Must(f.Depth.Reshape(1, h, w)), Intrinsics: tensor.Must(tensor.Of(s.Intrinsics[:], 4)), Poses: tensor.Must(tensor.Of(f.Pose[:], 4, 4)),
		}, ops.DeprojectOptions{Scale: s.Scale, Far: 3}))
		return numbers(t, out), f
	}
	world, _ := points(0)
	for _, i := range []int{1, 2} { // 7 and 10 mm by the recorded poses; a pose that is transposed or missing has decimetres
		_, f := points(i)
		measured, p := numbers(t, f.Depth), f.Pose
		var errors []float64
		for at := 0; at < len(world); at += 3 {
			var c [3]float64 // in the camera: the transposed rotation of the difference
			for j := range 3 {
				for r := range 3 {
					c[j] += float64(p[4*r+j]) * float64(world[at+r]-p[4*r+3])
				}
			}
			u, v := math.Round(c[0]/c[2]*k[0]+k[2]), math.Round(c[1]/c[2]*k[1]+k[3])
			if u >= 0 && u < 640 && v >= 0 && v < 480 { // false for NaN
				if z := float64(measured[int(v)*640+int(u)]) * s.Scale; z > 0 {
					errors = append(errors, math.Abs(z-c[2]))
				}
			}
		}
		require.Greater(t, len(errors), 100_000)
		slices.Sort(errors)
		assert.Less(t, errors[len(errors)/2], 0.015, "the median distance, m")
	}
}

package main

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/thorough"
)

// mcapOf writes an MCAP file of JSON messages, each of a topic, at 0, 1, 2 ... seconds.
func mcapOf(t *testing.T, schema string, messages ...[2]string) string {
	t.Helper()
	return encodedMCAP(t, "json", [3]string{schema, "jsonschema", "{}"}, messages...)
}

// encodedMCAP writes one of messages of an encoding and a schema: its name, its own encoding, and itself.
func encodedMCAP(t *testing.T, encoding string, schema [3]string, messages ...[2]string) string {
	t.Helper()
	b := []byte("\x89MCAP0\r\n")
	text := func(s string) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...) }
	record := func(kind byte, parts ...[]byte) {
		var body []byte
		for _, p := range parts {
			body = append(body, p...)
		}
		b = append(binary.LittleEndian.AppendUint64(append(b, kind), uint64(len(body))), body...)
	}
	le16 := func(v int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }
	le64 := func(v int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }
	record(1, text(""), text("test"))
	record(3, le16(1), text(schema[0]), text(schema[1]), text(schema[2]))
	channels := map[string]int{}
	for i, m := range messages {
		id, there := channels[m[0]]
		if !there {
			id = len(channels)
			channels[m[0]] = id
			record(4, le16(id), le16(1), text(m[0]), text(encoding), text(""))
		}
		record(5, le16(id), make([]byte, 4), le64(i*1e9), le64(i*1e9), []byte(m[1]))
	}
	record(15, make([]byte, 4))
	record(2, make([]byte, 20))
	path := filepath.Join(t.TempDir(), "drive.mcap")
	require.NoError(t, os.WriteFile(path, append(b, "\x89MCAP0\r\n"...), 0o600))
	return path
}

// cloudJSON is a message of points, each x, y, z and a ring.
func cloudJSON(points ...[4]float32) string {
	var data []byte
	for _, p := range points {
		for _, v := range p {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	}
	return fmt.Sprintf(`{"timestamp":{"sec":7,"nsec":0},"frame_id":"lidar","point_stride":16,"fields":[{"name":"x","offset":0,"type":7},{"name":"y","offset":4,"type":7},
		{"name":"z","offset":8,"type":7},{"name":"ring","offset":12,"type":7}],"data":%q}`, base64.StdEncoding.EncodeToString(data))
}

func TestVoxelizeTakesTheCloudsOfARecording(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	first, second := cloudJSON([4]float32{0.5, 0.5, 0.5, 1}, [4]float32{1.5, 0.5, 0.5, 2}), cloudJSON([4]float32{1.5, 1.5, 0.5, 3})
	drive := mcapOf(t, "foxglove.PointCloud", [2]string{"/points", first}, [2]string{"/points", second}, [2]string{"/points", `{"point_stride":0,"data":"AAAA"}`})
	out := filepath.Join(t.TempDir(), "o.npz")
	grid := []string{"-o", out, "--backend=cpu", "--size=1", "--min=0,0,0", "--max=2,2,1"}
	counts := func(args ...string) *npz.File {
		good(t, append(append([]string{"voxelize", drive}, grid...), args...)...)
		return open(t, out)
	}
	all := counts()
	assert.Equal(t, []int32{1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, array[int32](t, all, "grid"))
	assert.Equal(t, []int64{0, 1e9, 2e9}, array[int64](t, all, "times"))
	_, stderr := good(t, append([]string{"voxelize", drive, "--stream=/points"}, grid...)...)
	assert.Contains(t, stderr, "1 of 3 clouds cannot be read and have no points")
	one := counts("--cloud=1")
	assert.Equal(t, []int32{0, 0, 0, 1}, array[int32](t, one, "grid"))
	assert.False(t, one.Has("times"))

	stdout, _ := good(t, "inspect", drive)
	assert.Contains(t, stdout, "/points  3        1.0 Hz                      foxglove.PointCloud  clouds, the first of 2 points with ring")
	stdout, _ = good(t, "inspect", drive, "--json", "--clock=header")
	assert.Equal(t, []any{map[string]any{"name": "/points", "type": "foxglove.PointCloud", "episodes": 1.0, "clouds": 3.0, "points": 2.0, "columns": []any{map[string]any{"name": "ring", "type": "float32"}}}},
		unmarshal(t, stdout)["clouds"], "all at one time by that clock")
	plot := filepath.Join(t.TempDir(), "o.png")
	good(t, "inspect", drive, "--plot", plot)
	assert.FileExists(t, plot)
}

func TestCloudsThatAreNotThereAreRefused(t *testing.T) {
	drive := mcapOf(t, "foxglove.PointCloud", [2]string{"/a", cloudJSON()}, [2]string{"/b", cloudJSON()})
	numbers := mcapOf(t, "", [2]string{"/v", `{"x":1}`})
	flat := strings.Replace(cloudJSON([4]float32{1, 2, 3, 4}), `"z"`, `"depth"`, 1)
	scan := "testdata/cases/pcd-lowercase-type/lower.pcd"
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{2, `holds 2 cloud series, want --stream "/a" or "/b"`, []string{drive}},
		{3, `no series of clouds has that name, want "/a" or "/b"`, []string{drive, "--stream=/c"}},
		{2, "--cloud: got 1, and /a of", []string{drive, "--stream=/a", "--cloud=1"}},
		{2, "--episode: got 1", []string{drive, "--stream=/a", "--episode=1"}},
		{2, "--columns is for .bin files", []string{drive, "--stream=/a", "--columns=x,y,z"}},
		{3, "no point clouds in it", []string{numbers}},
		{3, `/a: none of its 2 clouds can be read: cloud 0 of /a: `, []string{mcapOf(t, "foxglove.PointCloud", [2]string{"/a", flat}, [2]string{"/a", flat})}},
		{2, "are for recordings, got a .pcd file", []string{scan, "--cloud=0"}},
	} {
		code, _, stderr := execute(append([]string{"voxelize", "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu", "--size=1"}, c.args...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, stderr)
		assert.Contains(t, stderr, c.says)
	}
	_, stderr := good(t, "resample", mcapOf(t, "", [2]string{"/v", `{"x":1.5}`}, [2]string{"/v", `{"x":2}`}), "--hz=1", "--backend=cpu", "-o", filepath.Join(t.TempDir(), "o.npz"))
	assert.NotContains(t, stderr, "left out")
}

func TestDefinitionsThatARecordingLacksAreTaken(t *testing.T) {
	log := encodedMCAP(t, "cdr", [3]string{"my_msgs/msg/Gripper", "ros2msg", ""}, [2]string{"/gripper", "\x00\x01\x00\x00\x07\x00"}, [2]string{"/gripper", "\x00\x01\x00\x00\x08\x00"})
	stdout, _ := good(t, "inspect", log)
	assert.Contains(t, stdout, "left out: /gripper")
	dir := filepath.Join(t.TempDir(), "my_msgs", "msg")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Gripper.msg"), []byte("int16 width\n"), 0o600))
	share := filepath.Dir(filepath.Dir(dir))
	stdout, _ = good(t, "inspect", log, "--msg-path", share, "--columns")
	assert.Contains(t, stdout, "width")
	assert.NotContains(t, stdout, "left out")
	f := resampleTo(t, log, "--hz=1", "--msg-path", share)
	assert.Equal(t, []float32{7, 8}, array[float32](t, f, "/gripper.values"))
	good(t, "pack", log, "-o", filepath.Join(t.TempDir(), "s.safetensors"), "--msg-path", share)
	for _, command := range [][]string{{"inspect"}, {"doctor"}, {"stats"}, {"pack", "-o", filepath.Join(t.TempDir(), "s.safetensors")},
		{"convert", "--to=mcap", "-o", filepath.Join(t.TempDir(), "s.mcap")}} {
		code, _, stderr := execute(append(command, log, "--msg-path", filepath.Join(share, "nowhere"))...)
		assert.Equal(t, exitUsage, code, command[0])
		assert.Contains(t, stderr, "--msg-path: got ", command[0])
	}
}

//go:build unix

package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/robocache/robocache/internal/test/thorough"
)

// interrupted starts train and ends it by a signal after some lines.
func interrupted(t *testing.T, sig syscall.Signal, lines int, args ...string) {
	t.Helper()
	cmd, _ := program(t, args...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	in := bufio.NewReader(stdout)
	for range lines {
		_, err = in.ReadString('\n')
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Process.Signal(sig))
	_, _ = io.Copy(io.Discard, in)
	require.Equal(t, sig == syscall.SIGTERM, cmd.Wait() == nil)
}

// --resume needs no other option. The files have the bytes of training that was not interrupted, also after a kill.
func TestResumeNeedsNoOptions(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	resumes(t, syscall.SIGTERM, 2, 2000, "--lr=0.002", "--ema=0.75") // after the streams and the first tenth
	resumes(t, syscall.SIGKILL, 3, 200, "--policy=flow", "--size=tiny", "--condition=cross", "--sample-steps=2", "--dropout=0.3")
}

func resumes(t *testing.T, sig syscall.Signal, lines, steps int, options ...string) {
	t.Helper()
	dir := t.TempDir()
	whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	plan := shortPlan(t)
	args := append([]string{"train", g1, plan, "--hold-out=0", "--leave-out=1", fmt.Sprint("--steps=", steps), "--batch=4", "--seed=9", "--accumulate=2", "--backend=cpu"}, options...)
	args = append(args, "--out")
	interrupted(t, sig, lines, append(args, parts)...)
	require.NoError(t, os.Remove(plan[len("--plan="):]))
	_, stderr := good(t, "train", g1, "--resume", "--out", parts)
	assert.Regexp(t, fmt.Sprintf(`goes on after step \d+ of %d`, steps), stderr)
	args[2] = shortPlan(t)
	good(t, append(args, whole)...)
	for _, folder := range []string{"", "best"} {
		for _, name := range []string{"model.safetensors", "training.safetensors"} {
			a, errA := os.ReadFile(filepath.Join(whole, folder, name))
			b, errB := os.ReadFile(filepath.Join(parts, folder, name))
			require.Equal(t, errA == nil, errB == nil)
			assert.Equal(t, a, b, "%s/%s", folder, name)
		}
	}
	_, stderr = good(t, "train", g1, "--resume", "--out", parts)
	assert.Contains(t, stderr, fmt.Sprintf("goes on after step %d of %[1]d", steps), "also after the second run")
	code, _, stderr := execute("train", g1, "--resume", "--batch=5", "--out", parts)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "batch: got 5, want 4, as the checkpoint has")
}

// --from begins with another checkpoint's weights. The new checkpoint resumes without it.
func TestTrainFromACheckpoint(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	first, second, whole := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "whole")
	good(t, "train", g1, "--policy=flow", "--size=tiny", "--sample-steps=2", "--state=observation.state", "--hold-out=0", "--steps=2", "--batch=4", "--ema=0", "--dropout=0.75", "--backend=cpu", "--out", first)
	args := []string{"train", g1, "--from", first, "--steps=100", "--hold-out=1", "--backend=cpu", "--out"}
	good(t, append(args, whole)...)
	interrupted(t, syscall.SIGTERM, 2, append(args, second)...)
	require.NoError(t, os.RemoveAll(first))
	stdout, _ := good(t, "train", g1, "--resume", "--json", "--out", second)
	list := lines(t, stdout)
	recipe := list[len(list)-1]["recipe"].(map[string]any)
	assert.Equal(t, []any{100.0, 4.0, 100.0, "euler", 2.0}, []any{recipe["steps"], recipe["batch"], recipe["warm_up"], recipe["sampler"], recipe["sample_steps"]})
	assert.Equal(t, []any{0.75, 0.25, nil}, []any{recipe["attention_dropout"], recipe["dropout"], recipe["ema"]})
	for _, name := range []string{"model.safetensors", "training.safetensors"} {
		a, err := os.ReadFile(filepath.Join(whole, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(second, name))
		require.NoError(t, err)
		assert.Equal(t, a, b, name)
	}
	for _, c := range [][]string{{"--size=tiny", "--size: got a value, and From"}, {"--policy=flow", "--policy: got a value, and From"}, {"--hz=30", "--hz: got a value, and From"}, {shortPlan(t), "--plan: got it with --from"}} {
		code, _, stderr := execute("train", g1, "--from", second, "--backend=cpu", c[0])
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, c[1])
	}
}

// scalar is a number in an event file.
type scalar struct {
	step uint64
	tag  string
	v    float32
}

// readEvents reads an event file by the definitions of TFRecord and of the messages Event and Summary.
func readEvents(t *testing.T, path string) (list []scalar) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	masked := func(b []byte) uint32 {
		crc := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
		return (crc>>15 | crc<<17) + 0xa282ead8
	}
	fields := func(b []byte, visit func(num protowire.Number, b []byte, v uint64)) {
		for len(b) > 0 {
			num, kind, n := protowire.ConsumeTag(b)
			require.Positive(t, n)
			b = b[n:]
			var v uint64
			var inner []byte
			switch kind {
			case protowire.VarintType:
				v, n = protowire.ConsumeVarint(b)
			case protowire.Fixed64Type:
				v, n = protowire.ConsumeFixed64(b)
			case protowire.Fixed32Type:
				var w uint32
				w, n = protowire.ConsumeFixed32(b)
				v = uint64(w)
			case protowire.BytesType:
				inner, n = protowire.ConsumeBytes(b)
			}
			require.Positive(t, n)
			visit(num, inner, v)
			b = b[n:]
		}
	}
	for record := 0; len(data) > 0; record++ {
		n := binary.LittleEndian.Uint64(data)
		require.Equal(t, masked(data[:8]), binary.LittleEndian.Uint32(data[8:]))
		event := data[12:][:n]
		require.Equal(t, masked(event), binary.LittleEndian.Uint32(data[12+n:]))
		data = data[16+n:]
		var s scalar
		fields(event, func(num protowire.Number, b []byte, v uint64) {
			switch num {
			case 1:
				assert.InDelta(t, 1e9, math.Float64frombits(v), 4e9, "seconds since 1970")
			case 2:
				s.step = v
			case 3:
				assert.Equal(t, 0, record)
				assert.Equal(t, "brain.Event:2", string(b))
			case 5:
				fields(b, func(num protowire.Number, b []byte, _ uint64) {
					assert.EqualValues(t, 1, num)
					fields(b, func(num protowire.Number, b []byte, v uint64) {
						if num == 1 {
							s.tag = string(b)
						} else if num == 2 {
							s.v = math.Float32frombits(uint32(v))
						}
					})
				})
			}
		})
		if record > 0 {
			list = append(list, s)
		}
	}
	return list
}

// --log-dir writes each step's loss and the validation curve, also without --out.
func TestTrainWritesEventsForTensorBoard(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := filepath.Join(t.TempDir(), "a", "logs")
	stdout, _ := good(t, "train", g1, shortPlan(t), "--hold-out=0", "--steps=20", "--batch=4", "--backend=cpu", "--json", "--log-dir", dir)
	files := inside(t, dir)
	require.Len(t, files, 1)
	assert.Regexp(t, `^events\.out\.tfevents\.\d{10}\.`, files[0])
	tags := map[string][]scalar{}
	for _, s := range readEvents(t, filepath.Join(dir, files[0])) {
		tags[s.tag] = append(tags[s.tag], s)
	}
	assert.Equal(t, []string{"loss/held_out", "loss/train", "steps_per_second"}, slices.Sorted(maps.Keys(tags)))
	require.Len(t, tags["loss/train"], 20)
	list := lines(t, stdout)
	for i, s := range tags["loss/train"] {
		assert.EqualValues(t, i+1, s.step)
	}
	for i, s := range tags["loss/held_out"] {
		assert.EqualValues(t, list[i]["step"], s.step)
		assert.Equal(t, float32(list[i]["held_out_loss"].(float64)), s.v)
		a, b := tags["loss/train"][2*i], tags["loss/train"][2*i+1]
		assert.InDelta(t, list[i]["loss"], (a.v+b.v)/2, 1e-6)
	}
	code, _, stderr := execute("train", g1, "--log-dir", g1, "--backend=cpu")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--log-dir: ")
}

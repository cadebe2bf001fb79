package lerobot_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/test/filetest"
)

// retime replaces the lengths of a video's frames: counts and ticks, in turns.
func retime(t *testing.T, path string, timescale uint32, runs ...uint32) {
	t.Helper()
	b := filetest.Read(t, path)
	at := bytes.Index(b, []byte("stts"))
	old := int(binary.BigEndian.Uint32(b[at-4:]))
	table := binary.BigEndian.AppendUint32([]byte("stts\x00\x00\x00\x00"), uint32(len(runs)/2))
	for _, v := range runs {
		table = binary.BigEndian.AppendUint32(table, v)
	}
	more := len(table) + 4 - old
	for _, box := range []string{"moov", "trak", "mdia", "minf", "stbl", "stts"} {
		head := b[bytes.Index(b, []byte(box))-4:]
		binary.BigEndian.PutUint32(head, uint32(int(binary.BigEndian.Uint32(head))+more))
	}
	if bytes.Index(b, []byte("mdat")) > at { // the frames move
		stco := b[bytes.Index(b, []byte("stco")):]
		for i := range int(binary.BigEndian.Uint32(stco[8:])) {
			binary.BigEndian.PutUint32(stco[12+4*i:], uint32(int(binary.BigEndian.Uint32(stco[12+4*i:]))+more))
		}
	}
	copy(b[bytes.Index(b, []byte("edts")):], "free") // it shows only a part of a longer video
	binary.BigEndian.PutUint32(b[bytes.Index(b, []byte("mdhd"))+16:], timescale)
	filetest.Write(t, path, append(append(bytes.Clone(b[:at]), table...), b[at+old-4:]...))
}

// A row has the frame that LeRobotDataset returns, by the rules in its decode_video_frames_pyav and decode_video_frames_torchcodec, or none
// where it raises an error. The frames of these videos are counted by hand.
func TestARowHasTheFrameThatLeRobotReturns(t *testing.T) {
	none := -1
	list := shots(t, "av1.mp4")
	for _, c := range []struct {
		name       string
		timescale  uint32
		runs       []uint32  // of the video
		stamps     []float32 // of the rows; the rate is 10 Hz
		from       float64   // from_timestamp; below 0 for version 2
		tolerance  float64
		pyav       []int
		torchcodec []int
	}{
		{"at its times", 1000, []uint32{24, 100}, []float32{0, .1, .2}, -1, 0, []int{0, 1, 2}, []int{0, 1, 2}},
		{"rows within and beyond the tolerance", 100000, []uint32{24, 10000}, []float32{0, .10009, .20011, .29991}, -1, 0, []int{0, 1, none, 3}, []int{0, 1, none, 3}},
		{"a row of no frame's time", 1000, []uint32{24, 100}, []float32{0, .05, 2.3, 2.4}, -1, 0, []int{0, none, 23, none}, []int{0, none, 23, none}},
		{"two rows of one time", 1000, []uint32{24, 100}, []float32{.1, .1, .2}, -1, 0, []int{1, 1, 2}, []int{1, 1, 2}},
		{"times that step back", 1000, []uint32{24, 100}, []float32{.3, .1, .2}, -1, 0, []int{3, 1, 2}, []int{3, 1, 2}},
		{"from_timestamp", 1000, []uint32{24, 100}, []float32{0, .1, .2}, 1.2, 0, []int{12, 13, 14}, []int{12, 13, 14}},
		{"a drifted from_timestamp", 1000, []uint32{24, 100}, []float32{0, .1, .2}, 1.2003, 0, []int{none, none, none}, []int{none, none, none}},
		{"a drifted from_timestamp, tolerated", 1000, []uint32{24, 100}, []float32{0, .1, .2}, 1.203, .01, []int{12, 13, 14}, []int{12, 13, 14}},
		{"the next episode's frames", 1000, []uint32{24, 100}, []float32{0, .1, .2, .3}, 0, 0, []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		{"shorter than its table", 1000, []uint32{24, 100}, []float32{2.2, 2.3, 2.4, 2.5}, -1, .3, []int{22, 23, 23, 23}, []int{22, 23, none, none}},
		// 0, .1, .2, .36, .46 and on: frame 4 is the first one at .4, and frame 3 is nearer
		{"a gap", 1000, []uint32{2, 100, 1, 160, 21, 100}, []float32{.2, .3, .4, .5}, -1, .07, []int{2, 3, 3, 4}, []int{2, 3, 4, 5}},
		{"a gap, not tolerated", 1000, []uint32{2, 100, 1, 160, 21, 100}, []float32{.1, .2, .3, .36}, -1, 0, []int{1, 2, none, 3}, []int{1, 2, none, none}},
		{"another rate", 990, []uint32{24, 100}, []float32{0, .5, 1, 1.5}, -1, .06, []int{0, 5, 10, 15}, []int{0, 5, 10, 15}},
		// one tick before its time: torchcodec goes on to the next frame
		{"a frame that is a tick early", 1000, []uint32{1, 99, 1, 101, 22, 100}, []float32{0, .1, .2}, -1, .002, []int{0, 1, 2}, []int{0, none, 2}},
		// steps of float32 are 61 us at 1000 s, so 90 us are one step or two
		{"far into a file", 1000, []uint32{1, 1000000, 23, 100}, []float32{0, .1}, 1000.00009, 0, []int{1, none}, []int{none, none}},
		{"to even", 1000, []uint32{24, 100}, []float32{.25, .75}, -1, .06, []int{2, 7}, []int{2, 8}},
	} {
		for backend, want := range map[string][]int{"pyav": c.pyav, "torchcodec": c.torchcodec} {
			m := filmed(t, len(c.stamps))
			m.info["fps"], m.info["splits"] = 10, map[string]any{"train": "0:1"}
			m.column("timestamp", "float32", f32, nil, func(row int) any { return c.stamps[row] })
			path, dir := film2, ""
			if c.from < 0 {
				dir = m.write2()
			} else {
				path, dir = "videos/"+camera+"/chunk-000/file-000.mp4", joined(m, []float64{c.from})
			}
			m.film("av1.mp4", path)
			retime(t, m.path(path), c.timescale, c.runs...)
			opt := lerobot.Options{VideoBackend: backend, Tolerance: c.tolerance, Clock: "frame_index"}
			e := episode(t, open(t, dir, opt), 0)
			frames, times := [][]byte{}, []int64{}
			for row, frame := range want {
				if frame >= 0 {
					frames, times = append(frames, list[frame]), append(times, int64(row)*1e8)
				}
			}
			lacks := len(want) - len(frames)
			if note := e.Notes.Find(dataset.CodeRowWithoutFrame); lacks > 0 && assert.NotNil(t, note, "%s, %s", c.name, backend) {
				assert.Equal(t, lacks, note.Count, "%s, %s", c.name, backend)
			} else {
				assert.Equal(t, lacks > 0, note != nil, "%s, %s", c.name, backend)
			}
			opt.Strict = true
			s, err := lerobot.Open(context.Background(), dir, opt)
			if err == nil { // the table has no fault of its own
				_, err = s.Episode(context.Background(), 0)
				require.NoError(t, s.Close())
			}
			if lacks > 0 {
				assert.ErrorIs(t, err, dataset.ErrCorrupt, "%s, %s", c.name, backend)
			}
			if len(frames) == 0 {
				assert.Empty(t, e.Media)
				continue
			}
			require.Len(t, e.Media, 1, "%s, %s", c.name, backend)
			assert.Equal(t, times, e.Media[0].Times, "%s, %s", c.name, backend)
			for i := range frames {
				got, err := e.Media[0].Frame(context.Background(), i)
				require.NoError(t, err)
				assert.True(t, bytes.Equal(frames[i], got), "%s, %s, frame %d", c.name, backend, i)
			}
		}
	}
}

func TestVideoBackendsAreThoseOfLeRobot(t *testing.T) {
	dir := filmed(t, 24).write2()
	for arg, opt := range map[string]lerobot.Options{"VideoBackend": {VideoBackend: "decord"}, "Tolerance": {Tolerance: 1}} {
		_, err := lerobot.Open(context.Background(), dir, opt)
		var bad *dataset.OptionError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, arg, bad.Arg)
	}
}

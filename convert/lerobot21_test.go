package convert

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// TestVersion21AndBackIsTheSame converts from 3.0 to 2.1 and back: every file is the same to the byte, except that 2.1 has no quantiles
// of videos. Numbers, times, tasks, splits, images and videos are in those files.
func TestVersion21AndBackIsTheSame(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	inputs := map[string]string{"recorded": write(t, recorded(t, 1, 20, false), recorded(t, 2, 30, false)), "tasks": filepath.Join(t.TempDir(), "tasks")}
	w, err := lerobotwrite.Create(inputs["tasks"], lerobotwrite.Options{FPS: 30})
	require.NoError(t, err)
	defer w.Close()
	for i, split := range []string{"train", "val"} {
		b := lerobotwrite.EpisodeOptions{Splits: []string{split}, RowTasks: slices.Repeat([]string{"reach", fmt.Sprint("put ", i)}, 5)}
		b.Texts = []lerobotwrite.TextFeature{{Name: "note", Rows: slices.Repeat([]string{"ö", ""}, 5)}}
		b.Times = map[string][]int64{"stamp": {1<<62 + 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
		require.NoError(t, w.AddWith(context.Background(), recorded(t, i, 10, false), b))
	}
	require.NoError(t, w.Commit(context.Background()))
	for _, name := range []string{"lerobot_v2_gr1_sim", "lerobot_v3_g1", "lerobot_studio/lerobotv2-image", "bridge_rlds"} {
		if path := filepath.Join("../../shared/data", name); assert.DirExists(t, filepath.Dir(path)) {
			inputs[name] = path
		}
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			opt := Options{}
			if name == "bridge_rlds" {
				opt.Reading.Rate = 5
			}
			before, _ := made(t, leRobot(t, LeRobotOptions{}), opt, in)
			middle, r := made(t, leRobot(t, LeRobotOptions{Version: "2.1"}), Options{}, before)
			assert.Equal(t, "lerobot-2.1", r.Target)
			for _, s := range r.Streams {
				assert.Equal(t, s.Read, s.Used, s.Name)
			}
			d := opened(t, middle, dataset.Options{Strict: true})
			assert.Equal(t, "v2.1", d.Info().Version)
			assert.Empty(t, d.Info().Notes)
			for i := range d.Len() {
				assert.Empty(t, settest.Episode(t, d, i).Notes)
			}
			after, _ := made(t, leRobot(t, LeRobotOptions{}), Options{}, middle)
			want, got := tree(t, before), tree(t, after)
			assert.ElementsMatch(t, names(want), names(got))
			for file := range want {
				if statistics := file == "meta/stats.json" || strings.HasPrefix(file, "meta/episodes/"); file == "convert.json" || statistics && hasVideo(d) {
					continue
				}
				assert.True(t, want[file] == got[file], file)
			}
			again, _ := made(t, leRobot(t, LeRobotOptions{Version: "2.1"}), Options{}, after)
			want, got = tree(t, middle), tree(t, again)
			assert.ElementsMatch(t, names(want), names(got))
			for file := range want {
				assert.True(t, file == "convert.json" || want[file] == got[file], file)
			}
		})
	}
}

// An episode whose video begins inside a group of pictures is encoded, and a note has its camera.
func TestVersion21EncodesAVideoThatCannotBeCut(t *testing.T) {
	needsFFmpeg(t)
	ctx := context.Background()
	e := settest.Episode(t, opened(t, sharedFile(t, "lerobot_v3_g1"), dataset.Options{}), 0)
	cut, ok := lerobot.Cut(&e.Media[0], 3, 40)
	require.True(t, ok)
	cut.Times = stepTimes(37, 30)
	in := filepath.Join(t.TempDir(), "set")
	w, err := lerobotwrite.Create(in, lerobotwrite.Options{FPS: 30})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Add(ctx, &dataset.Episode{Media: []dataset.Media{cut}}))
	require.NoError(t, w.Commit(ctx))
	_, r := made(t, leRobot(t, LeRobotOptions{}), Options{}, in)
	assert.Nil(t, noteOf(r, dataset.CodeFramesEncoded), "version 3.0 copies it")
	out, r := made(t, leRobot(t, LeRobotOptions{Version: "2.1", Codec: "h264"}), Options{}, in)
	assert.Equal(t, &dataset.Note{Code: dataset.CodeFramesEncoded, Subject: cut.Name, Count: 37, Detail: dataset.Detail{Got: "h264"}}, noteOf(r, dataset.CodeFramesEncoded))
	got := settest.Episode(t, opened(t, out, dataset.Options{Strict: true}), 0)
	assert.Equal(t, []any{37, "h264"}, []any{got.Media[0].Len(), got.Media[0].Encoding})
}

func names(tree map[string]string) (list []string) {
	for name := range tree {
		list = append(list, name)
	}
	return list
}

func hasVideo(d dataset.Dataset) bool {
	return slices.ContainsFunc(d.Info().Features, func(f dataset.Feature) bool { return f.DType == "video" })
}

// GR00T's modality.json is made from the streams of state and action, the cameras and the task, and completes an input's own.
func TestModalityIsMade(t *testing.T) {
	e := recorded(t, 1, 20, false)
	e.Streams[0].Name = "/left/arm"
	e.Media = []dataset.Media{{Name: "/cam/front", Times: e.Streams[0].Nanoseconds(), Encoding: "mono8", Width: 2, Height: 2, Source: grey{}}}
	in := write(t, e)
	modality := func(opt LeRobotOptions, in string) string {
		opt.Version, opt.Modality, opt.Cameras = "2.1", true, "image"
		out, _ := made(t, leRobot(t, opt), Options{}, in)
		opened(t, out, dataset.Options{Strict: true})
		return string(filetest.Read(t, filepath.Join(out, "meta", "modality.json")))
	}
	const rest = `, "action": {"action": {"start": 0, "end": 2}}, "video": {"cam_front": {"original_key": "observation.images.cam.front"}},
		"annotation": {"human.task_description": {"original_key": "task_index"}}}`
	assert.JSONEq(t, `{"state": {"left_arm": {"start": 0, "end": 3}}`+rest, modality(LeRobotOptions{State: []string{"/left/arm"}}, in))
	assert.JSONEq(t, `{"state": {"left_arm": {"start": 0, "end": 3}, "action": {"start": 3, "end": 5}}, `+rest[strings.Index(rest, `"video"`):],
		modality(LeRobotOptions{State: []string{"/left/arm", "action"}}, in))
	set, _ := made(t, leRobot(t, LeRobotOptions{State: []string{"/left/arm"}, Cameras: "image"}), Options{}, in)
	filetest.Write(t, filepath.Join(set, "meta", "modality.json"), `{"state": {"arm": {"start": 0, "end": 2}, "hand": {"start": 2, "end": 3}}}`)
	assert.JSONEq(t, `{"state": {"arm": {"start": 0, "end": 2}, "hand": {"start": 2, "end": 3}}`+rest, modality(LeRobotOptions{}, set))
	assert.JSONEq(t, `{"state": {"state": {"start": 0, "end": 3}}`+rest, modality(LeRobotOptions{State: []string{"observation.state"}}, set))
	_, err := LeRobot(LeRobotOptions{Version: "2.0"})
	assert.ErrorContains(t, err, "want 3.0, 2.1")
}

// Language columns of LeRobot 0.6 are left out of version 2.1 with a note.
func TestLanguageColumnsAreLeftOutOfVersion21(t *testing.T) {
	out, r := made(t, leRobot(t, LeRobotOptions{Version: "2.1"}), Options{}, "../dataset/lerobot/testdata/language")
	lost := map[string]int{}
	for _, n := range r.Losses.List {
		lost[n.Note.Subject] = n.Note.Count
	}
	assert.Equal(t, map[string]int{"language_persistent": 62, "language_events": 62}, lost)
	var info struct{ Features map[string]any }
	b, err := os.ReadFile(filepath.Join(out, "meta", "info.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &info))
	assert.NotContains(t, info.Features, "language_events")
}

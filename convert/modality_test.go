package convert

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// GR00T's parts of states and actions stay as far as what they name does, by the names that it has then.
func TestModalitiesAreKeptWhereTheirColumnsAre(t *testing.T) {
	e := recorded(t, 1, 20, false)
	e.Streams[0].Name = "observation.state"
	e.Media = []dataset.Media{{Name: "observation.images.front", Times: e.Streams[0].Nanoseconds(), Encoding: "mono8", Width: 2, Height: 2, Source: grey{}}}
	to := leRobot(t, LeRobotOptions{Cameras: "image"})
	in, _ := made(t, to, Options{}, write(t, e))
	other, _ := made(t, to, Options{}, in)
	assert.NoFileExists(t, filepath.Join(other, "meta", "modality.json"))
	const parts = `{"state": {"arm": {"start": 0, "end": 2}, "hand": {"start": 2, "end": 3}, "leg": {"start": 3, "end": 9}}, "action": {"all": {"start": 0, "end": 2}},
		"video": {"front": {"original_key": "observation.images.front"}, "wrist": {"original_key": "observation.images.wrist"}},
		"annotation": {"human.task": {"original_key": "task_index"}, "human.validity": {}}}`
	filetest.Write(t, filepath.Join(in, "meta", "modality.json"), parts)
	const state, video, annotation = `"state": {"arm": {"start": 0, "end": 2}, "hand": {"start": 2, "end": 3}}`, `"video": {"front": {"original_key": "observation.images.front"}}`,
		`"annotation": {"human.task": {"original_key": "task_index"}}`
	const all = "{" + state + `, "action": {"all": {"start": 0, "end": 2}}, ` + video + ", " + annotation + "}"
	for _, c := range []struct {
		opt   LeRobotOptions
		plan  *align.Plan
		want  string
		notes dataset.Notes
	}{
		{LeRobotOptions{}, nil, all, dataset.Notes{
			{Code: dataset.CodeModalityColumns, Subject: "state.leg", Detail: dataset.Detail{Got: "observation.state"}},
			{Code: dataset.CodeModalityMissing, Subject: "video.wrist", Detail: dataset.Detail{Got: "observation.images.wrist"}}}},
		{LeRobotOptions{}, &align.Plan{Rate: 30}, all, nil},
		{LeRobotOptions{Names: map[string]string{"action": "actions"}}, nil,
			"{" + state + `, "action": {"all": {"start": 0, "end": 2, "original_key": "actions"}}, ` + video + ", " + annotation + "}", nil},
		{LeRobotOptions{Action: []string{"action"}}, nil, "{" + state + ", " + video + ", " + annotation + "}", dataset.Notes{{Code: dataset.CodeModalityReplaced, Subject: "action.all", Detail: dataset.Detail{Got: "action"}}}},
		{LeRobotOptions{}, &align.Plan{Rate: 30, Streams: []align.Stream{{Name: "observation.state", Columns: []string{"0"}}, {Name: "action"}}},
			`{"action": {"all": {"start": 0, "end": 2}}, ` + video + ", " + annotation + "}", dataset.Notes{{Code: dataset.CodeModalityColumns, Subject: "state.arm", Detail: dataset.Detail{Got: "observation.state"}}}},
		{LeRobotOptions{}, &align.Plan{Rate: 30, Streams: []align.Stream{{Name: "observation.state", Columns: []string{"2", "0", "1"}}, {Name: "action", Columns: []string{"1", "0"}}}},
			"{" + video + ", " + annotation + "}", dataset.Notes{{Code: dataset.CodeModalityColumns, Subject: "state.arm", Detail: dataset.Detail{Got: "observation.state"}}, {Code: dataset.CodeModalityColumns, Subject: "action.all", Detail: dataset.Detail{Got: "action"}}}},
		{LeRobotOptions{}, &align.Plan{Rate: 30, Streams: []align.Stream{{Name: "observation.state", From: "action"}, {Name: "action"}}},
			`{"action": {"all": {"start": 0, "end": 2}}, ` + video + ", " + annotation + "}", dataset.Notes{{Code: dataset.CodeModalityRenamed, Subject: "state.arm", Detail: dataset.Detail{Got: "observation.state", Want: "action"}}}},
	} {
		c.opt.Cameras = "image"
		out, r := made(t, leRobot(t, c.opt), Options{Plan: c.plan}, in)
		got := filetest.Read(t, filepath.Join(out, "meta", "modality.json"))
		assert.JSONEq(t, c.want, string(got))
		for _, n := range c.notes {
			assert.True(t, slices.ContainsFunc(r.Notes.List, func(e dataset.EpisodeNote) bool { return assert.ObjectsAreEqual(n, e.Note) }), "%v of %v", n, r.Notes.List)
		}
		opened(t, out, dataset.Options{Strict: true})
	}
	out, r := made(t, to, Options{}, in, other)
	assert.NoFileExists(t, filepath.Join(out, "meta", "modality.json"))
	assert.NotNil(t, noteOf(r, dataset.CodeInputsDiffer))
	filetest.Write(t, filepath.Join(in, "meta", "modality.json"), "{")
	_, r = made(t, to, Options{}, in)
	assert.Error(t, noteOf(r, dataset.CodeModalityUnread).Cause)
}

// Definitions of tools, which calls in language columns refer to, go from info.json to info.json if all inputs have the same.
func TestToolsOfLeRobotAreKept(t *testing.T) {
	const tools = `[{"type":"function","function":{"name":"say"}}]`
	other, _ := made(t, leRobot(t, LeRobotOptions{}), Options{}, write(t, recorded(t, 1, 20, false)))
	in, _ := made(t, leRobot(t, LeRobotOptions{}), Options{}, other)
	info := filepath.Join(in, "meta", "info.json")
	filetest.Write(t, info, strings.Replace(string(filetest.Read(t, info)), "{", `{"tools": `+tools+",", 1))
	for _, c := range []struct {
		want   string
		inputs []string
	}{{tools, []string{in}}, {tools, []string{in, in}}, {"", []string{in, other}}} {
		out, r := made(t, leRobot(t, LeRobotOptions{}), Options{}, c.inputs...)
		list := opened(t, out, dataset.Options{Strict: true})
		assert.Equal(t, c.want, list.Info().Attributes["tools"])
		assert.Equal(t, c.want == "", noteOf(r, dataset.CodeInputsDiffer) != nil)
	}
}

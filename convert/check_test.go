package convert

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// policyEpisode is an episode with a task, a state and actions.
func policyEpisode(t *testing.T, seed int) *dataset.Episode {
	e := recorded(t, seed, 20, false)
	e.Streams[0].Name = "observation.state"
	return e
}

// addStream adds a stream with one column and the first stream's clock.
func addStream(t *testing.T, e *dataset.Episode, name string, values ...float64) {
	s, err := dataset.NewStream(name, e.Streams[0].Nanoseconds(), tensor.Must(tensor.Of(append(values, make([]float64, 20-len(values))...), 20, 1)), nil)
	require.NoError(t, err)
	e.Streams = append(e.Streams, s)
}

// checked returns the misfits of inputs.
func checked(t *testing.T, reader Reader, opt Options, in ...string) (list []string) {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	c, err := New(t.Context(), in, filepath.Join(t.TempDir(), "out"), leRobot(t, LeRobotOptions{}), opt)
	require.NoError(t, err)
	defer c.Close()
	n := 0
	f, err := c.Check(t.Context(), reader, func() { n++ })
	require.NoError(t, err)
	assert.Equal(t, c.Episodes(0), n)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left behind")
	for _, e := range f.Refused.List {
		list = append(list, misfit("refused", e.Note.Code, e.Note.Subject, e.Number))
	}
	for _, e := range f.LeftOut.List {
		list = append(list, misfit("left out", e.Note.Code, e.Note.Subject, e.Number))
	}
	return list
}

func misfit(how string, code dataset.Code, subject string, number int) string {
	return fmt.Sprint(how, ": ", code, " ", subject, " in episode ", number)
}

// TestEachMisfitIsFoundAndRefused has an input for each reason. The conversion refuses the same episodes, or drops the same streams.
func TestEachMisfitIsFoundAndRefused(t *testing.T) {
	policy := Reader{Name: "a trainer", Target: "lerobot", Version: "v3", Policy: true}
	for name, c := range map[string]struct {
		change func(list []*dataset.Episode)
		want   []string
		fatal  bool // the conversion ends with an error
	}{
		"none":           {func([]*dataset.Episode) {}, nil, false},
		"several clocks": {func(list []*dataset.Episode) { list[0] = recorded(t, 1, 20, true) }, []string{misfit("refused", dataset.CodeSeveralClocks, "", 0)}, true},
		"no one rate": {func(list []*dataset.Episode) {
			times := list[1].Streams[0].Nanoseconds()
			times[7] += 9_000_000
			for i := range list[1].Streams {
				list[1].Streams[i].Times = tensor.Must(tensor.Of(times, len(times)))
			}
		}, []string{misfit("refused", dataset.CodeNoRate, "", 1)}, false},
		"not finite in a stream":  {func(list []*dataset.Episode) { addStream(t, list[0], "temperature", math.NaN()) }, []string{misfit("left out", dataset.CodeNotFiniteValue, "temperature", 0)}, false},
		"not finite in a feature": {func(list []*dataset.Episode) { addStream(t, list[0], "observation.force", math.Inf(1)) }, []string{misfit("refused", dataset.CodeEpisodeUnread, "run1", 0)}, false},
		"another stream":          {func(list []*dataset.Episode) { addStream(t, list[1], "extra", 1) }, []string{misfit("refused", dataset.CodeNotInFirst, "extra", 1)}, true},
		"a missing stream":        {func(list []*dataset.Episode) { addStream(t, list[0], "extra", 1) }, []string{misfit("refused", dataset.CodeEpisodeUnread, "run2", 1)}, false},
		"two names that are one":  {func(list []*dataset.Episode) { addStream(t, list[0], "a/b"); addStream(t, list[0], "a.b") }, []string{misfit("refused", dataset.CodeEpisodeUnread, "run1", 0)}, false},
		"depth": {func(list []*dataset.Episode) {
			for _, e := range list {
				e.Media = []dataset.Media{{Name: "depth", Times: e.Streams[0].Nanoseconds(), Encoding: "mono16", Width: 1, Height: 1, Source: numbered{}}}
			}
		}, []string{misfit("left out", dataset.CodeDeepPixels, "depth", 0)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			list := []*dataset.Episode{policyEpisode(t, 1), policyEpisode(t, 2)}
			c.change(list)
			in := write(t, list...)
			got := checked(t, policy, Options{}, in)
			reports, err := all(filepath.Join(t.TempDir(), "out"), leRobot(t, LeRobotOptions{}), Options{}, in)
			assert.Equal(t, c.want, got)
			if c.fatal {
				require.Error(t, err)
				return
			}
			if name == "none" {
				require.NoError(t, err)
				assert.Equal(t, 2, reports[0].Converted)
			}
			for _, s := range got {
				if strings.HasPrefix(s, "refused") {
					assert.True(t, err != nil || reports[0].Skipped > 0, "%s: %v", s, err)
				} else {
					assert.True(t, slices.ContainsFunc(reports[0].Streams, func(a StreamAccount) bool { return len(a.Dropped) > 0 }), s)
				}
			}
		})
	}
}

// A policy needs tasks, a state and actions, which the format does not.
func TestAPolicyNeedsMoreThanTheFormat(t *testing.T) {
	format := Reader{Name: "the format", Version: "v3"}
	policy := Reader{Name: "a trainer", Version: "v3", Policy: true, Modality: true}
	e := recorded(t, 1, 20, false)
	e.Streams, e.Attributes.Task = e.Streams[:1], ""
	in := write(t, e)
	assert.Empty(t, checked(t, format, Options{}, in))
	assert.Equal(t, []string{misfit("refused", dataset.CodeFileMissing, "meta/modality.json", -1), misfit("refused", dataset.CodeTaskMissing, "", 0), misfit("refused", dataset.CodeFeatureMissing, "observation.state", -1),
		misfit("refused", dataset.CodeFeatureMissing, "action", -1)}, checked(t, policy, Options{}, in))
	out := filepath.Join(t.TempDir(), "out")
	converts(t, out, leRobot(t, LeRobotOptions{}), Options{}, write(t, policyEpisode(t, 1)))
	assert.Empty(t, checked(t, format, Options{}, out))
	format.Version = "v2"
	assert.Equal(t, []string{misfit("refused", dataset.CodeFormatVersion, "", -1)}, checked(t, format, Options{}, out))
}

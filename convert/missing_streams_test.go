package convert

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/tensor"
)

// archives writes episodes as archives, named in their order.
func archives(t *testing.T, list ...*dataset.Episode) string {
	t.Helper()
	dir := t.TempDir()
	for i, e := range list {
		f, err := atomicfile.Create(filepath.Join(dir, string(rune('a'+i))+".npz"))
		require.NoError(t, err)
		w := npz.NewWriter(f, npz.Options{})
		for _, s := range e.Streams {
			require.NoError(t, w.Add(s.Name+".values", s.Values))
			require.NoError(t, w.Add(s.Name+".times", s.Times))
		}
		require.NoError(t, w.Close())
		require.NoError(t, f.Commit())
	}
	return dir
}

// faulty is an episode whose stream state is so broken that it is none.
func faulty(t *testing.T, fault string) *dataset.Episode {
	t.Helper()
	e := recorded(t, 1, 40, false)
	s := &e.Streams[0]
	times := slices.Clone(s.Nanoseconds())
	switch fault {
	case "back":
		times[20] = times[10]
		s.Times = tensor.Must(tensor.Of(times, 40))
	case "short":
		s.Times = tensor.Must(tensor.Of(times[:39], 39))
	case "empty":
		s.Times, s.Values = tensor.Must(tensor.Of([]int64{}, 0)), tensor.Must(tensor.Of([]float32{}, 0, 3))
	case "not finite":
		values, err := tensor.Data[float32](s.Values)
		require.NoError(t, err)
		values[7] = float32(math.Inf(1))
	}
	return e
}

// Wherever an episode stands that lost what others have: it is the one that is skipped, and the reason is why it lost that.
func TestAnEpisodeThatLostAStreamIsSkippedWhereverItStands(t *testing.T) {
	plan := &align.Plan{Rate: 30}
	reasons := map[string]string{
		"back":       "without what other episodes have: state: disorder: 40, time goes backwards at sample 20; sorted it can be taken: --unordered sort",
		"short":      "without what other episodes have: state: array-mismatch: array state.times: got i64 [39] on host, want [40], one timestamp a sample",
		"empty":      "without what other episodes have: state: no-samples",
		"not finite": "+Inf",
	}
	good := func(i int) *dataset.Episode { return recorded(t, i, 40, false) }
	for fault, why := range reasons {
		for at := range 3 {
			list := []*dataset.Episode{good(2), good(3)}
			list = slices.Insert(list, at, faulty(t, fault))
			in := archives(t, list...)
			out, r := made(t, leRobot(t, LeRobotOptions{Extra: []string{"error", "skip"}[at%2]}), Options{Plan: plan, Device: cpu(t)}, in)
			assert.Equal(t, []int{2, 1}, []int{r.Converted, r.Skipped}, "%s %d", fault, at)
			if fault == "not finite" && at > 0 {
				why = "not finite"
			}
			assert.Contains(t, r.Pieces[0].Episodes[at].Skipped.Cause.Error(), why, "%s %d", fault, at)
			for _, e := range episodes(t, out) {
				assert.ElementsMatch(t, []string{"state", "action", "capture_time"}, e.Names())
			}
		}
	}
}

// Several that lost something are found one after the other; where the reading is strict the first of them is an error.
func TestEpisodesBeforeTheFirstThatIsWholeAreSkipped(t *testing.T) {
	less := recorded(t, 4, 40, false)
	less.Streams[1].Times = tensor.Must(tensor.Of(less.Streams[1].Nanoseconds()[:39], 39))
	in := archives(t, faulty(t, "back"), faulty(t, "empty"), less, recorded(t, 2, 40, false), recorded(t, 3, 40, false), faulty(t, "short"))
	opt := Options{Plan: &align.Plan{Rate: 30}, Device: cpu(t)}
	_, r := made(t, leRobot(t, LeRobotOptions{}), opt, in)
	assert.Equal(t, []int{2, 4}, []int{r.Converted, r.Skipped})
	var skipped []int
	for i, e := range r.Pieces[0].Episodes {
		if e.Skipped != nil {
			skipped = append(skipped, i)
		}
	}
	assert.Equal(t, []int{0, 1, 2, 5}, skipped)
	opt.Reading.Strict = true
	_, err := all(filepath.Join(t.TempDir(), "out"), leRobot(t, LeRobotOptions{}), opt, archives(t, faulty(t, "back"), recorded(t, 2, 40, false)))
	var episode *EpisodeError
	require.ErrorAs(t, err, &episode)
	assert.Zero(t, episode.Number)
	assert.ErrorContains(t, err, "time goes backwards at sample 20")
	_, r = made(t, leRobot(t, LeRobotOptions{Extra: "drop"}), Options{Plan: opt.Plan, Device: opt.Device}, archives(t, faulty(t, "back"), recorded(t, 2, 40, false)))
	assert.Equal(t, []int{2, 0}, []int{r.Converted, r.Skipped}, "as asked for")
}

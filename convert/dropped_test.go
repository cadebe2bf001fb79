package convert

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/tensor"
)

// codesOf returns the codes of a stream's dropped samples.
func codesOf(r *Report, name string) (codes []dataset.Code) {
	for _, s := range r.Streams {
		if s.Name == name {
			for _, n := range s.Dropped {
				codes = append(codes, n.Code)
			}
		}
	}
	return codes
}

func TestMediaAndCloudsThatAreNotTakenHaveACode(t *testing.T) {
	e := recorded(t, 1, 40, true)
	e.Media = append(e.Media, e.Media[0])
	e.Media[1].Name = "side"
	r := converts(t, filepath.Join(t.TempDir(), "out"), MCAP(mcap.Protobuf), Options{Media: []string{"front"}}, write(t, e))
	assert.Equal(t, []dataset.Code{dataset.CodeNotSelected}, codesOf(r, "side"))
	n := ready{e: &Episode{Recorded: &dataset.Episode{Media: e.Media[:1], Clouds: []dataset.CloudStream{{Name: "lidar", Times: []int64{1, 2}}}}}}
	n.untaken(map[string]bool{}, nil, &Conversion{})
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeCloudsNotAligned, Count: 2}}, n.accounts[1].Dropped)
}

func TestSamplesWithoutATimeHaveACode(t *testing.T) {
	e := recorded(t, 1, 40, false)
	a := StreamAccount{Name: "state", Read: e.Streams[0].Len()}
	a.drop(dataset.CodeStrayTime, 3)
	a.drop(dataset.CodeTimeInvalid, 2)
	a.drop(dataset.CodeStrayTime, 1)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeStrayTime, Count: 4}, {Code: dataset.CodeTimeInvalid, Count: 2}}, a.Dropped)
	assert.Equal(t, 6, a.dropped())
}

func TestWhyAnEpisodeLacksAStream(t *testing.T) {
	e := &dataset.Episode{Notes: dataset.Notes{{Code: dataset.CodeText, Subject: "a.values"}}}
	e.Notes.AddDamage(dataset.CodeChunkBroken, 3, nil)
	lost := lostOf(e, nil)
	a, ok := reasonOf(lost, "a")
	require.True(t, ok)
	assert.Equal(t, []any{dataset.CodeText, "a"}, []any{a.Code, a.Subject})
	b, ok := reasonOf(lost, "b")
	require.True(t, ok)
	assert.Equal(t, []any{dataset.CodeRecordingBroken, "b"}, []any{b.Code, b.Subject})
}

func TestCamerasThatLeRobotCannotHaveHaveACode(t *testing.T) {
	l := &leRobotWriter{}
	times := []int64{0, 1}
	_, why := l.media(context.Background(), &dataset.Media{Name: "m", Times: times, Encoding: "8UC3", Source: deepFrames{}}, times)
	assert.Equal(t, dataset.CodeFramesUndecoded, why.Code)
}

func TestStreamsThatAWebDatasetCannotHaveHaveACode(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.safetensors")
	f, err := os.Create(in)
	require.NoError(t, err)
	w := safetensors.NewWriter(f)
	for name, dtype := range map[string]tensor.DType{"half": tensor.BF16, "state": tensor.F32} {
		require.NoError(t, w.Add(name+".times", tensor.Must(tensor.Of([]int64{0, 1e8}, 2))))
		require.NoError(t, w.Add(name+".values", tensor.Must(tensor.New(dtype, 2, 1))))
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	r := converts(t, filepath.Join(t.TempDir(), "out"), WebDataset(), Options{}, in)
	assert.Equal(t, []dataset.Code{dataset.CodeStreamRefused}, codesOf(r, "half"))
}

func TestAMaskOfAStreamIsNoted(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	converts(t, out, MCAP(mcap.Protobuf), Options{Plan: &align.Plan{Rate: 20, Streams: []align.Stream{{Name: "state"}}}, Device: cpu(t)}, write(t, recorded(t, 1, 40, true)))
	n := episodes(t, out)[0].Notes.Find(dataset.CodeMaskApplied)
	require.NotNil(t, n)
	assert.Equal(t, []string{"state.valid", "state"}, []string{n.Subject, n.Got})
}

package doctor

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// findingIn returns the finding of a kind in a stream.
func findingIn(t *testing.T, r *Report, kind Kind, stream string) *Finding {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Kind == kind && f.Subject() == stream {
			return f
		}
	}
	require.Fail(t, "no finding", "%s of %s in %v", kind, stream, r.Findings)
	return nil
}

// covers reports whether a range has a time.
func covers(list []dataset.Span, t int64) bool {
	for _, s := range list {
		if t >= s.From && t <= s.To {
			return true
		}
	}
	return false
}

func TestRangesCoverEveryPlace(t *testing.T) {
	for _, every := range []int{1, 2, 3, 7} {
		tapes := recording(1)
		imu := tapes["imu"]
		var bad []int64
		for i := every; i < len(imu.rows)-100; i += every {
			imu.rows[i][0] = math.NaN()
			bad = append(bad, imu.times[i])
		}
		f := findingIn(t, examined(t, &memory{episodes: []*dataset.Episode{episodeOf(t, tapes)}}, Options{}), NaN, "imu")
		assert.Equal(t, len(bad), f.Count)
		assert.Equal(t, bad[:min(len(bad), MostTimes)], f.At)
		places := f.Places()
		assert.LessOrEqual(t, len(places), mostRanges+1)
		for _, at := range bad {
			require.True(t, covers(places, at), "every %d: %d is in no range", every, at)
		}
		assert.Equal(t, [2]int64{bad[0], bad[len(bad)-1]}, [2]int64{places[0].From, places[len(places)-1].To}, "and no further")
		if every == 1 {
			assert.Len(t, places, 1, "samples that follow each other are one range")
		}
		b, err := json.Marshal(f)
		require.NoError(t, err)
		var out struct {
			Count  int        `json:"count"`
			Ranges [][2]int64 `json:"ranges_ns"`
		}
		require.NoError(t, json.Unmarshal(b, &out))
		assert.Len(t, out.Ranges, len(places))
		assert.Equal(t, len(bad), out.Count)
	}
}

func TestRangesHaveTheExtentOfTheFault(t *testing.T) {
	tapes := recording(2)
	joints, imu := tapes["joints"], tapes["imu"]
	gap := dataset.Span{From: joints.times[299], To: joints.times[360]}
	joints.cut(300, 360)
	still := dataset.Span{From: imu.times[800], To: imu.times[1100]}
	for i := 801; i <= 1100; i++ {
		imu.rows[i] = imu.rows[800]
	}
	r := examined(t, &memory{episodes: []*dataset.Episode{episodeOf(t, tapes)}}, Options{})
	assert.Equal(t, []dataset.Span{gap}, findingIn(t, r, Gap, "joints").Places())
	assert.Equal(t, []dataset.Span{still}, findingIn(t, r, Stuck, "imu").Places())
}

func TestPlacesOfATimeAreThatTime(t *testing.T) {
	f := Finding{At: []int64{7, 3}}
	assert.Equal(t, []dataset.Span{{From: 3, To: 3}, {From: 7, To: 7}}, f.Places())
	assert.Empty(t, (&Finding{}).Places())
}

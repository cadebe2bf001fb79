package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/browsertest"
)

// written writes the page of a report into a file.
func written(t *testing.T, r *Report) (path, text string) {
	var b bytes.Buffer
	require.NoError(t, r.WriteHTML(&b))
	path = filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path, b.String()
}

// ill is a recording with several faults, whose names would break a page that does not escape them.
func ill(t *testing.T) *Report {
	tapes := recording(3)
	tapes["joints"].cut(500, 520)
	tapes["joints"].name = `<script>alert("joints")</script>`
	hold(tapes["imu"], 1000, 1200)
	for i := 700; i < 900; i++ {
		scale(tapes["tracker"].rows[i][3:], -1)
	}
	tapes["imu"].times[3000] = tapes["imu"].times[2999]
	m := &memory{episodes: []*dataset.Episode{episodeOf(t, tapes), nil}}
	m.info.Notes = dataset.Notes{{Code: dataset.CodeFilesMissing, Subject: "videos", Count: 2, Detail: dataset.Detail{Of: 3, Names: []string{"a.mp4"}}}}
	return examined(t, m, Options{Path: "here"})
}

// A browser that has no network opens the page without a complaint, shows every finding, and a picture of those that have one.
func TestThePageOpensInABrowserAndShowsWhatWasFound(t *testing.T) {
	r := ill(t)
	require.Len(t, r.Findings, 6)
	path, _ := written(t, r)
	b := browsertest.Start(t)
	p := b.Open("file://"+path, 1000, 900)
	var seen struct {
		Verdict            string
		Findings, Pictures int
		Lines, Marks       int
		Outside, Scripts   int
		Wide               bool
		Kinds              []string
	}
	p.Eval(`(() => { const all = s => [...document.querySelectorAll(s)];
		const drawn = all("path.line").filter(l => { const b = l.getBBox(); return b.width > 300 && b.height > 5 });
		return { Verdict: document.querySelector("#verdict").textContent, Findings: all(".finding").length, Pictures: all("svg").length,
			Lines: drawn.length, Marks: all("path.mark").length, Scripts: all("script").length,
			Outside: all("[src], link, [href]").filter(e => !(e.getAttribute("href") || "").startsWith("#")).length,
			Wide: document.documentElement.scrollWidth > innerWidth, Kinds: all("td a").map(a => a.textContent) } })()`, &seen)
	assert.Equal(t, "2 errors, 4 warnings", seen.Verdict)
	assert.Equal(t, 6, seen.Findings)
	assert.Equal(t, 4, seen.Pictures)
	assert.Equal(t, 9, seen.Lines, "a gap and a duplicate of clocks, four columns of a sensor, and of a quaternion the three that are not 0")
	assert.Equal(t, 5, seen.Marks)
	assert.Equal(t, []string{"missing-file", "unreadable", "gap", "duplicate", "stuck", "quaternion-flip"}, seen.Kinds)
	assert.Zero(t, seen.Outside+seen.Scripts)
	assert.False(t, seen.Wide, "it is wider than the window")
	assert.Empty(t, p.Errors())
	p.Eval(`document.querySelector("details summary").click() || true`, nil)
	var open bool
	p.Eval(`document.querySelector("details").open`, &open)
	assert.False(t, open, "a kind can be put away")
	picture := p.Screenshot()
	assert.Greater(t, len(picture), 10_000)
	if keep := os.Getenv("ROBOCACHE_PAGES"); keep != "" {
		require.NoError(t, os.WriteFile(filepath.Join(keep, "doctor.png"), picture, 0o600))
	}
}

// The times in words are those of the pictures' axes, and of one episode all count from the same time.
func TestTheTimesInWordsAreThoseOfThePictures(t *testing.T) {
	tapes := recording(3)
	tapes["joints"].cut(0, 100)
	tapes["joints"].cut(500, 520) // the sample before it was sample 599
	for _, row := range tapes["imu"].rows {
		row[3], row[4] = min(row[3], 0.6), max(row[4], -0.6)
	}
	e := episodeOf(t, tapes)
	e.Attributes.Source = "folder/late.bag"
	r := examined(t, &memory{episodes: []*dataset.Episode{e}}, Options{Path: "folder"})
	require.Len(t, r.Findings, 2)
	gap, cut := r.Findings[0], r.Findings[1]
	assert.Equal(t, []Kind{Gap, Saturation}, []Kind{gap.Kind, cut.Kind})
	assert.Equal(t, "folder/late.bag", gap.Source)
	assert.InDelta(t, 5.99, gap.drawn.marks[0], 0.02)
	assert.InDelta(t, 1, gap.drawn.lines[0].x[0], 0.02)
	assert.Equal(t, gap.zero, cut.zero)
	assert.Len(t, cut.Columns, 2)
	assert.IsIncreasing(t, cut.At)
	_, text := written(t, r)
	assert.Contains(t, text, "episode 0 (late.bag), joints")
	assert.Contains(t, text, "at "+seconds(gap.At[0]-gap.zero)+"; 0 s is 2023-11-14 22:13:")
}

func TestThePageEscapesNames(t *testing.T) {
	_, text := written(t, ill(t))
	assert.NotContains(t, text, "<script")
	assert.Contains(t, text, "&lt;script&gt;")
	assert.Equal(t, 1, strings.Count(text, "Content-Security-Policy"))
}

func TestThePageOfAHealthyRecordingSaysSo(t *testing.T) {
	_, text := written(t, examined(t, &memory{episodes: []*dataset.Episode{episodeOf(t, recording(1))}}, Options{}))
	assert.Contains(t, text, "Nothing found")
	assert.NotContains(t, text, "<article")
}

// Whatever numbers there are to draw, the picture has no others.
func TestPicturesHaveFiniteNumbers(t *testing.T) {
	nan, inf := 0., 1e308
	nan /= nan
	for _, y := range [][]float64{nil, {1}, {nan}, {nan, nan}, {5, 5, 5}, {-inf, inf}, {inf * 10, 1}, {0, 1e-300}, {1, nan, 2}} {
		x := make([]float64, len(y))
		for i := range x {
			x[i] = float64(i)
		}
		text := (&plot{x: "s", y: "v", lines: []line{{"a", x, y}}, marks: []float64{0, nan}}).svg()
		assert.NotContains(t, text, "NaN", y)
		assert.NotContains(t, text, "Inf", y)
	}
}

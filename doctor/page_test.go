package doctor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/doctor/page"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/filetest"
)

// written writes the page of a report into a file.
func written(t *testing.T, r *doctor.Report) (path, text string) {
	var b bytes.Buffer
	require.NoError(t, page.Write(&b, r))
	path = filepath.Join(t.TempDir(), "page.html")
	filetest.Write(t, path, b.Bytes())
	return path, b.String()
}

// A browser that has no network opens the page without a complaint, shows every finding, and a picture of those that have one.
func TestThePageOpensInABrowserAndShowsWhatWasFound(t *testing.T) {
	r := doctor.Ill(t)
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
		filetest.Write(t, filepath.Join(keep, "doctor.png"), picture)
	}
}

// The times in words are those of the pictures' axes, and of one episode all count from the same time.
func TestTheTimesInWordsAreThoseOfThePictures(t *testing.T) {
	r := doctor.Late(t)
	require.Len(t, r.Findings, 2)
	gap, cut := r.Findings[0], r.Findings[1]
	assert.Equal(t, []doctor.Kind{doctor.Gap, doctor.Saturation}, []doctor.Kind{gap.Kind, cut.Kind})
	assert.Equal(t, "folder/late.bag", gap.Source)
	assert.InDelta(t, 5.99, gap.Plot.Marks[0], 0.02)
	assert.InDelta(t, 1, gap.Plot.Lines[0].X[0], 0.02)
	assert.Equal(t, gap.Start, cut.Start)
	assert.Len(t, cut.Columns, 2)
	assert.IsIncreasing(t, cut.At)
	_, text := written(t, r)
	assert.Contains(t, text, "episode 0 (late.bag), joints")
	assert.Contains(t, text, "at "+strings.TrimRight(fmt.Sprintf("%.6f", float64(gap.At[0]-gap.Start)/1e9), "0")+" s; 0 s is 2023-11-14 22:13:")
}

// The recorder takes the time of lost data from a topic with another clock, 19 minutes after the recording.
func TestThePageOfTheFlightLogHasNoTimeOutsideTheRecording(t *testing.T) {
	d, err := dataset.Open(t.Context(), "../examples/data/flight.ulg", dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	r, err := doctor.Examine(t.Context(), d, doctor.Options{})
	require.NoError(t, err)
	_, text := written(t, r)
	assert.Contains(t, text, "not drawn: sensor_combined, vehicle_air_data, vehicle_angular_velocity, vehicle_magnetometer, vehicle_rates_setpoint<")
	times := regexp.MustCompile(`class="when">at (?:([-0-9.]+) s[,;] )+0 s is ([0-9.]+) s`).FindAllStringSubmatch(text, -1)
	require.Len(t, times, 5, "gap, gap, jitter, angle-wrap and nan, but not dropout")
	for _, m := range times {
		last, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		assert.True(t, last >= 0 && last < 8 && m[2] == "19.443729", m[0])
	}
}

func TestThePageEscapesNames(t *testing.T) {
	_, text := written(t, doctor.Ill(t))
	assert.NotContains(t, text, "<script")
	assert.Contains(t, text, "&lt;script&gt;")
	assert.Equal(t, 1, strings.Count(text, "Content-Security-Policy"))
}

func TestThePageOfAHealthyRecordingSaysSo(t *testing.T) {
	_, text := written(t, doctor.Healthy(t))
	assert.Contains(t, text, "Nothing found")
	assert.NotContains(t, text, "<article")
}

// Whatever clock and values a stream has, examining and drawing it ends, and the report can be written.
func TestNoStreamStopsTheExamination(t *testing.T) {
	doctor.EachOddReport(t, func(report *doctor.Report) {
		_, text := written(t, report)
		assert.NotContains(t, text, "%!")
		_, err := json.Marshal(report)
		require.NoError(t, err)
	})
}

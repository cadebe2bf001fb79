package doctor

import (
	"testing"

	"github.com/robocache/robocache/dataset"
)

// Reports for the tests of the page, which import package page and so cannot be in this package.

// Ill returns the report on ill.
func Ill(t *testing.T) *Report { return ill(t) }

// EachOddReport runs do for the reports of eachOddReport.
func EachOddReport(t *testing.T, do func(*Report)) { eachOddReport(t, do) }

// Healthy returns the report on a recording without a fault.
func Healthy(t *testing.T) *Report {
	return examined(t, &memory{episodes: []*dataset.Episode{episodeOf(t, recording(1))}}, Options{})
}

// Late returns the report on an episode with a clock that begins later than the others.
func Late(t *testing.T) *Report {
	tapes := recording(3)
	tapes["joints"].cut(0, 100)
	tapes["joints"].cut(500, 520) // the sample before it was sample 599
	for _, row := range tapes["imu"].rows {
		row[3], row[4] = min(row[3], 0.6), max(row[4], -0.6)
	}
	e := episodeOf(t, tapes)
	e.Attributes.Source = "folder/late.bag"
	return examined(t, &memory{episodes: []*dataset.Episode{e}}, Options{Path: "folder"})
}

package viz

import (
	"io"
	"iter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
)

// Compare returns a panel with a recorded stream and the same columns on another clock. Whole numbers are drawn as steps. Up to
// MaxCurves columns are all shown, unless only some are whole numbers, because counters flatten other curves. Else the panel shows
// the first rotation, or the columns that [Pick] returns.
func Compare(recorded, made *dataset.Stream) Panel {
	p := Panel{
		Title: made.Name, Columns: recorded.ColumnNames(), Held: make([]bool, len(recorded.Columns)),
		Recorded:  Series{Times: recorded.Times, Values: recorded.Values},
		Resampled: Series{Times: made.Times, Values: made.Values},
	}
	whole := 0
	for i, c := range recorded.Columns {
		if p.Held[i] = c.Integer; c.Integer {
			whole++
		}
	}
	if n := len(recorded.Columns); n <= MaxCurves && (whole == 0 || whole == n) {
		for i := range n {
			p.Show = append(p.Show, i)
		}
	}
	for i, c := range recorded.Columns {
		if n := c.Rotation.Width(); n > 0 && p.Show == nil && i+n <= len(recorded.Columns) {
			for k := range n {
				p.Show = append(p.Show, i+k)
			}
		}
	}
	return p
}

// Panels returns the panel by [Compare] for each pair: the recorded stream, and the same stream on another clock.
func Panels(pairs iter.Seq2[*dataset.Stream, *dataset.Stream]) []Panel {
	var list []Panel
	for recorded, made := range pairs {
		list = append(list, Compare(recorded, made))
	}
	return list
}

// WriteFile draws panels as [WritePNG] does, into a file. It writes the whole file or nothing.
func WriteFile(path string, panels []Panel, opt Options) error {
	return atomicfile.WriteFile(path, func(w io.Writer) error { return WritePNG(w, panels, opt) })
}

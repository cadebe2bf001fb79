package convert

import (
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// captureTime is the column with the recorded times of the rows. captureTime.CAMERA has the recorded times of a camera's frames.
const captureTime = "capture_time"

// isCapture reports whether a dataset's column has capture times by its name.
func isCapture(name string) bool {
	return name == captureTime || strings.HasPrefix(name, captureTime+".")
}

// stamps returns the recorded times, ns, if a stream is a column of capture times, because the input was converted before. It returns nil
// for any other stream, and for a stream that the options name. A value that is no time, for example a plan's fill value NaN, becomes the
// row's own time.
func (l *leRobotWriter) stamps(s *dataset.Stream, times []int64) ([]int64, error) {
	_, named := l.opt.Names[s.Name]
	if named || !isCapture(s.Name) || len(s.Columns) != 1 || !s.Columns[0].Integer || slices.Contains(l.opt.State, s.Name) || slices.Contains(l.opt.Action, s.Name) {
		return nil, nil
	}
	if s.Integers != nil {
		return tensor.Data[int64](s.Integers)
	}
	values, err := tensor.Floats(s.Values)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(times)
	for i, v := range values {
		if math.Abs(v) < 1<<62 {
			list[i] = int64(v)
		}
	}
	return list, nil
}

// captures returns the names of the columns with capture times that the dataset gets. A column is needed if the first episode's rows or
// frames have other times than i/FPS, or if an input declares it. Columns with the name of another stream are left out.
func (l *leRobotWriter) captures(e *Episode, own *dataset.Episode, names map[string]string) []string {
	declared := map[string]bool{}
	for i := range l.piece.Inputs {
		for _, f := range l.piece.Inputs[i].Features {
			declared[f.Name] = isCapture(f.Name)
		}
	}
	needs := e.Aligned != nil || !slices.Equal(e.Times, stepTimes(len(e.Times), l.fps))
	var list []string
	if needs || declared[captureTime] {
		list = append(list, captureTime)
	}
	for i := range own.Media {
		m := &own.Media[i]
		column := captureTime + "." + names[m.Name]
		if _, picked := e.Media[slices.IndexFunc(e.Media, func(o dataset.Media) bool { return o.Name == m.Name })].Source.(*Picked); picked || declared[column] {
			list = append(list, column)
		}
	}
	return slices.DeleteFunc(list, func(column string) bool { // another stream has this name
		return slices.ContainsFunc(own.Streams, func(s dataset.Stream) bool { return names[s.Name] == column })
	})
}

// captured returns an episode's time columns: its own if it has them, otherwise the times of its frames or rows. Other time columns
// are left out.
func (l *leRobotWriter) captured(e *Episode, names map[string]string, recorded map[string][]int64, kept *Kept) map[string][]int64 {
	list := map[string][]int64{}
	for _, column := range l.capture {
		list[column] = e.Times
	}
	for i := range e.Media {
		m := &e.Media[i]
		column := captureTime + "." + names[m.Name]
		if p, picked := m.Source.(*Picked); picked && list[column] != nil {
			times := make([]int64, len(p.Frames))
			for k, f := range p.Frames {
				times[k] = p.Recorded.Times[f]
			}
			list[column] = times
		}
	}
	for column, times := range recorded {
		if list[column] != nil {
			list[column] = times
		} else {
			delete(kept.Samples, column)
			kept.leave(column, len(times), noPlace("times for a camera that is not written", "LeRobot"))
		}
	}
	return list
}

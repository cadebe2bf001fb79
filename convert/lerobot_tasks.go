package convert

import (
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// annotation is GR00T's prefix for the names of columns that hold task numbers.
const annotation = "annotation."

func isAnnotation(s *dataset.Stream) bool {
	return strings.HasPrefix(s.Name, annotation) && s.AllInteger()
}

// annotated returns the tasks of all inputs, each once, if an input has annotation columns with task numbers. The dataset then
// lists them in this order, so the first input's numbers stay valid.
func (l *leRobotWriter) annotated() (list []string) {
	there := false
	for _, in := range l.piece.Inputs {
		for _, f := range in.Features {
			there = there || strings.HasPrefix(f.Name, annotation)
		}
		for _, task := range in.Tasks {
			if !slices.Contains(list, task) {
				list = append(list, task)
			}
		}
	}
	if !there {
		return nil
	}
	return list
}

// renumbered converts an input's task numbers to the numbers in the new dataset. Values that are not task numbers stay.
func (l *leRobotWriter) renumbered(s dataset.Stream, tasks []string) (dataset.Stream, error) {
	all := l.annotated()
	if len(tasks) <= len(all) && slices.Equal(tasks, all[:len(tasks)]) {
		return s, nil
	}
	values, err := tensor.Floats(s.Values)
	if err != nil {
		return s, err
	}
	out := slices.Clone(values)
	for i, v := range values {
		if v >= 0 && v < float64(len(tasks)) {
			out[i] = float64(slices.Index(all, tasks[int(v)]))
		}
	}
	s.Integers = nil
	s.Values, err = tensor.Of(out, s.Values.Shape()...)
	return s, err
}

// knowsTasks reports whether a stream is task_index from a LeRobot dataset that went through another format, which has the tasks as texts.
func (l *leRobotWriter) knowsTasks(e *Episode, stream string) bool {
	return stream == "task_index" && l.opt.Names[stream] == "" &&
		len(l.piece.Inputs[e.Input].Tasks) == 0 && slices.ContainsFunc(e.Texts, isTask)
}

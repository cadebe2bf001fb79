package convert

import (
	"maps"
	"slices"

	"github.com/robocache/robocache/dataset"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
)

// leaveAttributes adds notes about attributes that a format cannot hold. If held is true, it can hold the texts that change.
func (k *Kept) leaveAttributes(e *Episode, format string, held bool) {
	for _, name := range slices.Sorted(maps.Keys(e.Attributes.Other)) {
		text := slices.ContainsFunc(e.Texts, func(t dataset.TextStream) bool { return t.Name == name })
		if name != "episode_index" && !(held && text) { // of the dataset that it was read from
			k.leave(name, 1, dataset.Note{Code: dataset.CodeNoPlace, Detail: dataset.Detail{Want: format, Unit: "it"}})
		}
	}
}

// leaveTexts notes an episode's texts that a format has no place for. A task that does not change is an attribute and has a place.
func (k *Kept) leaveTexts(e *Episode, format string) {
	for i := range e.Texts {
		t := &e.Texts[i]
		constant := !slices.ContainsFunc(t.Values, func(text string) bool { return text != e.Attributes.Task })
		if _, is := e.Attributes.Other[t.Name]; !is && !(t.Task && constant) {
			k.leave(t.Name, 1, dataset.Note{Code: dataset.CodeNoPlace, Detail: dataset.Detail{Want: format, Unit: "it"}})
		}
	}
}

// texts sets the task of each row if it changes, and the string features, which the first episode defines. An episode without one
// of them has empty texts.
func (l *leRobotWriter) texts(e *Episode, b *lerobotwrite.EpisodeOptions) {
	rows := func(at func(time int64) string) []string {
		list := make([]string, len(e.Times))
		for i, t := range e.Times {
			list[i] = at(t)
		}
		return list
	}
	if slices.ContainsFunc(e.Texts, isTask) {
		b.RowTasks = rows(e.TaskAt)
	}
	if l.has == nil {
		l.strings = nil
		for i := range e.Texts {
			if !e.Texts[i].Task {
				l.strings = append(l.strings, e.Texts[i].Name)
			}
		}
	}
	for _, name := range l.strings {
		at := func(int64) string { return "" }
		for i := range e.Texts {
			if e.Texts[i].Name == name {
				at = e.Texts[i].At
			}
		}
		b.Texts = append(b.Texts, lerobotwrite.TextFeature{Name: l.name(name, ""), Attribute: name, Rows: rows(at)})
	}
}

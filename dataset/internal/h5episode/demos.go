package h5episode

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
)

// WantDemos describes the groups that DemosOf finds.
const WantDemos = "a group data with groups demo_0, demo_1, ..."

// DemosOf returns the group data, and the paths of the groups in it that begin with demo; none if there is no such group.
func DemosOf(root *hdf5.Group) (data *hdf5.Group, demos []string, err error) {
	if !root.Has("data") {
		return nil, nil, nil
	}
	o, err := root.Open("data")
	data, ok := o.(*hdf5.Group)
	if err != nil || !ok {
		return nil, nil, err
	}
	for _, name := range data.Names() {
		if strings.HasPrefix(name, "demo") {
			demos = append(demos, "data/"+name)
		}
	}
	return data, demos, nil
}

// IndexDemos is Index for files with a group data of demonstrations.
func (s *Set) IndexDemos(ctx context.Context) error {
	_, demos, err := DemosOf(s.File.Root())
	if err != nil {
		return err
	}
	return s.groups(ctx, demos)
}

// countDemo counts a demonstration's steps, and notes its task.
func (s *Set) countDemo(demo *hdf5.Group) error {
	attrs, err := demo.Attrs()
	if err != nil {
		return err
	}
	said := Said{}
	for _, a := range attrs {
		if a.Name == "num_samples" || a.Name == "ep_meta" {
			if value, err := textOf(&a.Values); err == nil { // errors are reported when the episode is read
				said[a.Name] = value
			}
		}
	}
	s.AddTask(TaskOf(said))
	for _, name := range []string{"action", "actions"} {
		if actions, err := demo.Dataset(name); err == nil && len(actions.Shape()) > 0 {
			s.AddFrames(actions.Len())
			return nil
		}
	}
	if n, ok := said.Number("num_samples"); ok && n > 0 && n < 1<<53 {
		s.AddFrames(int(n))
	}
	return nil
}

// masks reads the lists of demonstrations in the group mask.
func (s *Set) masks(number map[string]int) error {
	if !s.File.Root().Has("mask") {
		return nil
	}
	mask, err := s.File.Root().Group("mask")
	if err != nil {
		return s.Broken("mask", err)
	}
	for _, name := range mask.Names() {
		list, err := mask.Dataset(name)
		var names []string
		if err == nil {
			names, err = list.ReadStrings()
		}
		if err != nil {
			if err := s.Broken("mask/"+name, err); err != nil {
				return err
			}
			continue
		}
		split := dataset.Split{Name: name, Episodes: []int{}}
		for _, demo := range names {
			if i, there := number[demo]; there {
				split.Episodes = append(split.Episodes, i)
			} else {
				s.Problem(dataset.CodeSplitNameMissing, "mask/"+name, dataset.Detail{Got: demo})
			}
		}
		s.About.Splits = append(s.About.Splits, split)
	}
	return nil
}

// BeginRoot is Begin for any group: its attributes are the episode's, and num_samples is the number of steps.
func (r *Reader) BeginRoot(group *hdf5.Group) error {
	said, err := r.Attributes(group)
	if err != nil {
		return err
	}
	if v, ok := said.Number("success"); ok {
		success := v != 0
		r.Episode.Attributes.Success = &success
		delete(said, "success")
	}
	if n, ok := said.Number("num_samples"); ok && n >= 0 && n < 1<<53 {
		declared := int(n)
		r.Declared = &declared
		delete(said, "num_samples")
	}
	r.Episode.Attributes.Other = said
	r.Episode.Attributes.Task = TaskOf(said)
	if all := r.set.About.Tasks; r.Episode.Attributes.Task == "" && len(all) == 1 {
		r.Episode.Attributes.Task = all[0] // the file's own
	}
	return nil
}

// taskWords are the names of attributes with an instruction.
var taskWords = []string{"language_instruction", "lang", "language", "instruction", "task_description", "prompt", "env_lang"}

// TaskOf returns the instruction in attributes: under one of the usual names, or under one of these in the JSON of ep_meta,
// problem_info or env_args.
func TaskOf(said Said) string {
	for _, name := range taskWords {
		if said[name] != "" {
			return said[name]
		}
	}
	for _, name := range []string{"ep_meta", "problem_info", "env_args"} {
		var meta map[string]json.RawMessage
		if json.Unmarshal([]byte(said[name]), &meta) != nil {
			continue
		}
		for _, word := range taskWords {
			if task := wordsOf(meta[word]); task != "" {
				return task
			}
		}
	}
	return ""
}

// wordsOf returns a JSON string, or a list of such joined, as some writers have its letters.
func wordsOf(raw json.RawMessage) string {
	var words string
	var list []string
	switch {
	case json.Unmarshal(raw, &words) == nil:
	case json.Unmarshal(raw, &list) == nil:
		words = strings.Join(list, "")
	}
	return strings.TrimSpace(words)
}

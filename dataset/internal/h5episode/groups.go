package h5episode

import (
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/internal/text"
)

// IndexGroups is Index for files of any layout: the episodes are groups that are alike, at any depth, or the file is one.
func (s *Set) IndexGroups(ctx context.Context) error { return s.groups(ctx, episodesIn(s.File.Root())) }

// groups makes groups the episodes, or the whole file if there are none. The rate comes from the attributes of the root, or of the
// group around all episodes. Lists of episodes in a group mask are splits.
func (s *Set) groups(ctx context.Context, found []string) error {
	root := s.File.Root()
	slices.SortFunc(found, dataset.CompareNames)
	top, all := "/", map[string]bool{}
	for i, p := range found {
		if dir := "/" + path.Dir(p); i == 0 {
			top = path.Clean(dir)
		} else if path.Clean(dir) != top {
			top = "/"
		}
		all[p] = true
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if !all[dir] {
				all[dir] = false // a group around episodes
			}
		}
	}
	said := Said{}
	for _, at := range slices.Compact([]string{"/", top}) {
		group, err := root.Group(at)
		if err != nil {
			return err
		}
		if err := group.Lost(); err != nil {
			if err := s.Broken(at, err); err != nil {
				return err
			}
		}
		more, err := s.Attributes(group)
		if err != nil {
			return err
		}
		maps.Copy(said, more)
	}
	s.AddTask(TaskOf(said))
	if err := s.ChooseRate(RateOf(said)); err != nil {
		return err
	}
	if len(found) == 0 {
		s.Parts = []Part{{s.Name(), "/"}}
		return s.countDemo(root)
	}
	s.About.Attributes = said
	s.tellOthers(root, all)
	number := map[string]int{}
	for i, p := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := strings.TrimPrefix("/"+p, strings.TrimSuffix(top, "/")+"/")
		number[name] = i
		s.Parts = append(s.Parts, Part{name, "/" + p})
		demo, err := root.Group(p)
		if err == nil {
			err = s.countDemo(demo)
		}
		if err != nil {
			if err := s.Broken(p, err); err != nil {
				return err
			}
		}
	}
	if total, ok := said.Number("total"); ok && total != float64(s.About.Frames) {
		s.Problem(dataset.CodeStepTotal, strings.TrimPrefix(top, "/"), dataset.Detail{Got: strconv.Itoa(s.About.Frames), Want: said["total"]})
	}
	return s.masks(number)
}

// maxGroupDepth is the largest depth at which episodes are searched.
const maxGroupDepth = 8

// marks are names inside episodes that groups of episodes do not contain.
var marks = []string{"action", "actions", "obs", "observation", "observations", "reward", "rewards", "done", "dones"}

func isMark(name string) bool { return slices.Contains(marks, strings.ToLower(name)) }

// sensors are last words in the names of groups that are parts of an episode, however alike they are.
var sensors = []string{"agent", "arm", "cam", "camera", "eef", "finger", "force", "gripper", "hand", "image", "imu", "joint", "left", "leg", "lidar", "link",
	"obj", "object", "right", "robot", "sensor", "tactile", "timestamp", "transform", "view"}

func isSensor(name string) bool {
	name = strings.TrimRight(strings.ToLower(name), "0123456789_-")
	name = name[strings.LastIndexAny(name, "_- ")+1:]
	return slices.Contains(sensors, strings.TrimSuffix(name, "s"))
}

// stemOf returns a name with # for its numbers.
func stemOf(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r >= '0' && r <= '9' }), "#")
}

// episodesIn returns the paths of the episodes in a group. Groups are episodes if their names differ only in numbers, if each
// contains actions or observations, or if all groups with data contain such names. It returns nil if the group itself has data or
// is an episode.
func episodesIn(g *hdf5.Group) []string {
	var names, marked, broken, below []string
	whole := true // every group with data has episodes
	for _, name := range g.Names() {
		o, err := g.Open(name)
		child, ok := o.(*hdf5.Group)
		d, data := o.(*hdf5.Dataset)
		switch {
		case isMark(name), data && len(d.Shape()) > 1 && d.Len() > 1:
			return nil
		case err == nil && !ok:
			continue
		}
		names = append(names, name)
		switch {
		case err != nil:
			broken = append(broken, name)
		case slices.ContainsFunc(child.Names(), isMark) && !isSensor(name):
			marked = append(marked, name)
		case hasSeries(child):
			deeper := []string(nil)
			if strings.Count(child.Path(), "/") < maxGroupDepth && !isSensor(name) {
				deeper = episodesIn(child)
			}
			for _, p := range deeper {
				below = append(below, name+"/"+p)
			}
			whole = whole && deeper != nil
		}
	}
	other := func(name string) bool { return stemOf(name) != stemOf(names[0]) || isSensor(name) }
	switch {
	case whole && len(marked) == 0 && len(below) > 0:
		return below
	case len(names) > 0 && stemOf(names[0]) != names[0] && !slices.ContainsFunc(names, other):
		return names
	case len(marked) > 1: // a broken object with such a name is an episode too, which is an error
		return append(marked, slices.DeleteFunc(broken, func(name string) bool { return stemOf(name) != stemOf(marked[0]) })...)
	}
	return nil
}

// hasSeries reports whether a group holds rows of numbers.
func hasSeries(g *hdf5.Group) bool {
	return g.Walk(func(_ string, o hdf5.Object, err error) error {
		if d, ok := o.(*hdf5.Dataset); ok && len(d.Shape()) > 1 && d.Len() > 1 {
			return dataset.ErrShape // one is enough
		}
		return nil
	}) != nil
}

// tellOthers lists the objects outside episodes and outside the groups around them.
func (s *Set) tellOthers(g *hdf5.Group, episodes map[string]bool) (names []string) {
	var deeper []string
	for _, name := range g.Names() {
		at := strings.TrimPrefix(path.Join(g.Path(), name), "/")
		if whole, above := episodes[at]; !above && at != "mask" {
			names = append(names, at)
		} else if child, err := g.Group(name); err == nil && above && !whole {
			deeper = append(deeper, s.tellOthers(child, episodes)...)
		}
	}
	if names = append(names, deeper...); len(names) > 0 {
		s.About.Attributes["other objects"] = text.Names(names)
	}
	return names
}

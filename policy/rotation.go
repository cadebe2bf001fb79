package policy

import (
	"regexp"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
)

// component matches the usual names of quaternion components, for example "qw".
var component = regexp.MustCompile(`(^|[^a-z])q[wxyz]$`)

// Rotations returns the action columns that are components of quaternions, by the recording's metadata or by their names, for
// example "qw". The network predicts each component by itself and does not normalise the quaternion: see docs/train.md.
func (c *Config) Rotations(store *store.Store) ([]string, error) {
	p, err := c.parse()
	if err != nil {
		return nil, err
	}
	from := c.Action.Name
	for i := range p.Streams {
		if in := &p.Streams[i]; in.Name == c.Action.Name {
			from = in.Source()
		}
	}
	said := map[string]bool{}
	for i := range store.Streams {
		if s := &store.Streams[i]; s.Name == from {
			for _, col := range s.Columns {
				said[col.Name] = col.Rotation != dataset.RotationNone
			}
		}
	}
	var list []string
	for _, name := range c.Action.Columns {
		lower := strings.ToLower(name)
		if said[name] || strings.Contains(lower, "quat") || component.MatchString(lower) {
			list = append(list, name)
		}
	}
	return list, nil
}

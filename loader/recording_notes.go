package loader

import (
	"cmp"

	"github.com/robocache/robocache/dataset"
)

// notes returns a recording's notes that bear on the plan's streams and cameras, and those about its damage.
func (c *chosen) notes(e *dataset.Episode) dataset.Notes {
	list, remarks := e.Notes.Damage(), e.Notes.Of(dataset.ClassRemark)
	if len(c.plan.Streams) == 0 {
		return append(list, remarks...)
	}
	var names []string
	for i := range c.plan.Streams {
		names = append(names, cmp.Or(c.plan.Streams[i].From, c.plan.Streams[i].Name))
	}
	if c.filming != nil {
		for i := range c.filming.cameras {
			names = append(names, c.filming.from(i))
		}
	}
	return append(list, remarks.About(names)...)
}

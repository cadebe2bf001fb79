package loader

import (
	"cmp"
	"errors"

	"github.com/robocache/robocache/dataset"
)

// notes returns a recording's notes that bear on the plan's streams and cameras, and those about its damage.
func (c *chosen) notes(e *dataset.Episode, about *Episode) (list dataset.Notes) {
	for _, l := range about.LeftOut {
		if l.Name == damaged {
			list = append(list, dataset.Note{Code: "lost", Detail: dataset.Detail{Cause: errors.New(l.Reason)}})
		}
	}
	if len(c.plan.Streams) == 0 {
		return append(list, e.Notes...)
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
	return append(list, e.Notes.About(names)...)
}

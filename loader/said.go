package loader

import (
	"cmp"

	"github.com/robocache/robocache/dataset"
)

// sayings are a recording's remarks that bear on the plan's streams and cameras, and its damage.
func (c *chosen) sayings(e *dataset.Episode, about *Episode) (list []string) {
	for _, d := range about.Damage {
		list = append(list, "lost: "+d)
	}
	if len(c.plan.Streams) == 0 {
		return append(list, e.Remarks...)
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
	return append(list, e.RemarksOf(names)...)
}

// say takes up what an episode says.
func (c *chosen) say(episode string, texts []string) {
	for _, text := range texts {
		k, there := c.said[text]
		if !there {
			if c.said == nil {
				c.said = map[string]int{}
			}
			k = len(c.report.Said)
			c.said[text] = k
			c.report.Said = append(c.report.Said, Said{Text: text, Episode: episode})
		}
		c.report.Said[k].Episodes++
	}
}

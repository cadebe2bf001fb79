package align

import "strings"

// origin is where in a file a plan's keys are: line and column.
type origin struct {
	path   string
	values map[string][2]int // of what keys have
	keys   map[string][2]int // of the keys themselves
}

// place returns where the value of a key is, or of the nearest key around it.
func (o *origin) place(key string) (line, column int) {
	for {
		if at, ok := o.values[key]; ok {
			return at[0], at[1]
		}
		i := strings.LastIndexAny(key, ".[")
		if i < 0 {
			return 1, 1
		}
		key = key[:i]
	}
}

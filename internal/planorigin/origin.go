package planorigin

import "strings"

// Origin is where in a file the keys of a plan are: line and column, from 1.
type Origin struct {
	Path   string
	Values map[string][2]int // of the values
	Keys   map[string][2]int // of the keys themselves
}

// Place returns where the value of a key is, or of the nearest key around it.
func (o *Origin) Place(key string) (line, column int) {
	for {
		if at, ok := o.Values[key]; ok {
			return at[0], at[1]
		}
		i := strings.LastIndexAny(key, ".[")
		if i < 0 {
			return 1, 1
		}
		key = key[:i]
	}
}

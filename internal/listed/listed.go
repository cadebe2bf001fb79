package listed

import (
	"fmt"
	"strings"
)

// most is how many are named.
const most = 20

// Names joins names by commas: "a, b, c"; of more than 20 the first, and how many more there are.
func Names(names []string) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

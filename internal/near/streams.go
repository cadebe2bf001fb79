package near

import (
	"fmt"
	"strings"
)

// Streams returns the names of the streams that a name may stand for: a topic's, or a list's of several sets of names, of which no stream has the plain
// name, or one without its slash, or the nearest.
func Streams(name string, names []string) string {
	topic := "/" + strings.TrimPrefix(name, "/")
	var parts []string
	for _, n := range names {
		if n == topic {
			return n
		}
		if strings.HasPrefix(n, topic+".") || strings.HasPrefix(n, topic+" (") {
			parts = append(parts, n)
		}
	}
	if len(parts) == 0 {
		return Nearest(name, names)
	}
	const most = 8
	text := strings.Join(parts[:min(len(parts), most)], " or ")
	if len(parts) > most {
		text += fmt.Sprintf(", or %d more of it", len(parts)-most)
	}
	return text
}

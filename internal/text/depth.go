package text

// Depth returns a bound of how deep YAML nests: open brackets, and the dashes that begin a line.
func Depth(yaml []byte) (most int) {
	open, dashes, begins := 0, 0, true
	for _, c := range yaml {
		switch {
		case c == '\n':
			dashes, begins = 0, true
		case c == '[' || c == '{':
			open++
		case c == ']' || c == '}':
			open = max(open-1, 0)
		}
		if begins && (c == '-' || c == '?') {
			dashes++
		} else if begins && c != ' ' && c != '\n' {
			begins = false
		}
		most = max(most, open+dashes)
	}
	return most
}

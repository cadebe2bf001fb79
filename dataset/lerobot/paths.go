package lerobot

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// folderOf returns the fixed folder in a path pattern, such as "data" in "data/chunk-{episode_chunk:03d}/...".
func folderOf(pattern, usual string) string {
	fixed, _, ok := strings.Cut(pattern, "{")
	if dir := filepath.Dir(filepath.FromSlash(fixed)); ok && dir != "." && filepath.IsLocal(dir) {
		return dir
	}
	return usual
}

// numberOf returns the episode number in a version 2 file name, such as "episode_000012.parquet".
func numberOf(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(name), ".parquet"), "episode_")
	n, err := strconv.ParseInt(digits, 10, 53)
	return n, ok && err == nil && n >= 0
}

// expand replaces "{name}" and "{name:03d}" in a path with numbers, and "{video_key}" with a name.
func expand(pattern string, numbers map[string]int64, video string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		field, after, _ := strings.Cut(rest, "}")
		name, form, _ := strings.Cut(field, ":")
		if name == "video_key" {
			b.WriteString(video)
		} else {
			width, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(form, "0"), "d"))
			fmt.Fprintf(&b, "%0*d", min(max(width, 0), 20), numbers[name])
		}
		pattern = after
	}
}

package lerobot

import (
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

//go:build !linux

package driver

import (
	"bytes"
	"runtime"
	"strconv"
)

// threadID identifies the calling goroutine instead of its thread: callers that bind a context lock the goroutine to its thread
// meanwhile.
func threadID() int {
	var b [40]byte
	text := b[:runtime.Stack(b[:], false)] // "goroutine 12 [running]..."
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(string(fields[1]))
	return n
}

package main

import (
	"math"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/decimal"
)

// seconds reads a length of time; a number is one of seconds.
func seconds(text string) (time.Duration, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	sec, err := decimal.ParseFloat(text, 64)
	return time.Duration(math.Round(sec * 1e9)), err == nil && math.Abs(sec) < 9e9
}

// readStreams reads the values of --stream and --window. A stream is a name, or one with columns as resample takes it; what resample takes besides,
// batches have in a plan.
func (b *asking) readStreams() error {
	b.Streams, b.Windows = nil, map[string]align.Window{}
	for _, f := range b.asked {
		s := align.Stream{Name: f}
		if i := strings.LastIndexByte(f, '['); i >= 0 && strings.HasSuffix(f, "]") {
			var err error
			if s, err = parseStream(f, []string{f[:i]}); err != nil {
				return err
			}
		}
		b.Streams = append(b.Streams, s)
	}
	for _, w := range b.spans {
		name, span, _ := cutLast(w, "=")
		from, to, found := strings.Cut(span, ":")
		lo, good := seconds(from)
		hi, too := seconds(to)
		if !found || !good || !too {
			return usagef("--window: got %q, want NAME=FROM:TO such as action=0s:1s or state=-500ms:0s, or in numbers of seconds, state=-0.5:0", w)
		}
		b.Windows[name] = align.Window{From: lo, To: hi}
	}
	return nil
}

// cutLast cuts at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

package main

import (
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/ops"
)

const streamFlag = "NAME[COLUMN,...]:kind:max-gap of a stream to take, all but the name optional: airspeed, airspeed::50ms, pose[x,y]:pchip; repeatable"

// splitName cuts the name from a --stream value: the longest known name, or else the text before a bracket or colon.
func splitName(f string, names []string) (name, rest string) {
	for _, n := range names {
		if tail, ok := strings.CutPrefix(f, n); ok && len(n) > len(name) && (tail == "" || tail[0] == ':' || tail[0] == '[') {
			name, rest = n, tail
		}
	}
	if name != "" {
		return name, rest
	}
	if end := strings.IndexAny(f, "[:"); end >= 0 {
		return f[:end], f[end:]
	}
	return f, ""
}

func parseStream(f string, names []string) (s align.Stream, err error) {
	name, rest := splitName(f, names)
	s.Name = name
	if columns, found := strings.CutPrefix(rest, "["); found {
		var closed bool
		if columns, rest, closed = strings.Cut(columns, "]:"); !closed {
			columns, closed = strings.CutSuffix(columns, "]")
		}
		if !closed || columns == "" {
			return s, usagef("--stream: got %q, want columns in brackets, such as NAME[x,y]", f)
		}
		s.Columns = strings.Split(columns, ",")
	} else {
		rest = strings.TrimPrefix(rest, ":")
	}
	kind, gap, _ := strings.Cut(rest, ":")
	if s.Name == "" {
		return s, usagef("--stream: got %q, want NAME, NAME:kind or NAME:kind:max-gap", f)
	}
	if kind != "" {
		c := cli.Choice[ops.Interp]{List: ops.Interps()}
		if err := c.Set(kind); err != nil {
			return s, usagef("--stream %s: got kind %q, %v", f, kind, err)
		}
		s.Kind = kind
	}
	if gap != "" {
		limit := cli.LimitFlag{To: &s.MaxGap}
		if err := limit.Set(gap); err != nil {
			return s, usagef("--stream %s: got max-gap %q, %v", f, gap, err)
		}
	}
	return s, nil
}

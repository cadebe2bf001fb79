package main

import (
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/ops"
	"github.com/spf13/pflag"
)

const streamFlag = "a stream as NAME[COLUMN,...]:method:max-gap, all but the name optional: airspeed, airspeed::50ms, pose[x,y]:pchip; repeatable"

// gapFlag limits gaps: auto, none or a duration.
type gapFlag struct{ cli.LimitFlag }

func (g *gapFlag) String() string {
	if g.To == nil {
		return ""
	}
	return align.GapText(*g.To)
}

func (g *gapFlag) Type() string { return "auto|none|DURATION" }

func (g *gapFlag) Set(s string) error {
	if limit, named := align.ParseGap(s); named {
		*g.To = limit
		return nil
	}
	return g.LimitFlag.Set(s)
}

const gapHelp = "timestamps between samples further apart than this are not valid: auto, three usual steps if a stream has a rate, 20 ms at least; none; or a length of time"

// gapsFlag adds --max-gap, which is auto unless it is given.
func gapsFlag(f *pflag.FlagSet, to *ops.Limit) {
	*to = align.AutoGap
	f.Var(&gapFlag{cli.LimitFlag{To: to}}, "max-gap", gapHelp)
}

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
		return s, usagef("--stream: got %q, want NAME, NAME:method or NAME:method:max-gap", f)
	}
	if kind != "" {
		c := cli.Choice[ops.Interp]{List: ops.Interps()}
		if err := c.Set(kind); err != nil {
			return s, usagef("--stream %s: got kind %q, %v", f, kind, err)
		}
		s.Kind = kind
	}
	if gap != "" {
		limit := gapFlag{cli.LimitFlag{To: &s.MaxGap}}
		if err := limit.Set(gap); err != nil {
			return s, usagef("--stream %s: got max-gap %q, %v", f, gap, err)
		}
	}
	return s, nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
)

// plan is the plan file, or what the flags say; the rate that the dataset declares, where nothing else does.
func (d *drawing) plan(ctx context.Context) (align.Plan, error) {
	if d.planFile != "" {
		p, err := align.ReadPlan(d.planFile)
		var bad *align.PlanError
		if err != nil && !errors.As(err, &bad) {
			err = readError(d.planFile, err)
		}
		return p, err
	}
	p := align.Plan{Rate: d.hz.value, Shuffle: "windows", Windows: map[string]align.Window{}}
	if d.streaming.shards() {
		p.Shuffle = "shards"
	}
	p.Shuffle = cmp.Or(d.shuffle, p.Shuffle)
	if p.Rate == 0 {
		info := d.data.Info()
		if info.Rate == 0 {
			return p, usagef("no clock given, want --hz or --plan: %s declares no rate; or --rate, if it counts steps", d.path)
		}
		p.Rate = info.Rate
		d.remark("the clock has %g Hz, as the dataset has; --hz takes another", p.Rate)
	}
	names := d.streams
	if len(names) == 0 {
		var err error
		if names, err = d.names(ctx); err != nil {
			return p, err
		}
	}
	for _, name := range names {
		p.Streams = append(p.Streams, align.Stream{Name: name})
		if name == "action" || name == "actions" {
			p.Windows[name] = align.Window{To: time.Second}
		}
	}
	for _, w := range d.windows {
		name, span, _ := cutLast(w, "=")
		from, to, found := strings.Cut(span, ":")
		lo, err := time.ParseDuration(from)
		hi, failed := time.ParseDuration(to)
		if !found || err != nil || failed != nil {
			return p, usagef("--window: got %q, want NAME=FROM:TO such as action=0s:1s", w)
		}
		if all := append(slices.Clip(names), d.cameras.names()...); !slices.Contains(all, name) {
			return p, usagef("--window: got stream %q, want one of %s", name, strings.Join(all, ", "))
		}
		p.Windows[name] = align.Window{From: lo, To: hi}
	}
	return p, nil
}

// cutLast cuts at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

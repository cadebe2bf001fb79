package main

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/decimal"
)

// plan is the plan file, or what the flags say; the rate that the dataset declares, where nothing else does.
func (d *drawing) plan(ctx context.Context) (align.Plan, error) {
	if d.planFile != "" {
		p, err := align.ReadPlan(d.planFile)
		var bad *align.PlanError
		if err != nil && !errors.As(err, &bad) {
			err = readError(d.planFile, err)
		}
		if err == nil && len(p.Windows) == 0 {
			d.remark("the plan has no windows, so all streams have the anchor alone: windows: {action: [0s, 1s]} would give action a second")
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
	names, taken := d.streams, d.taken
	if len(names) == 0 {
		var err error
		if names, err = d.names(ctx); err != nil {
			return p, err
		}
		for _, name := range names {
			taken = append(taken, align.Stream{Name: name})
		}
	}
	p.Streams = taken
	for _, name := range names {
		if name == "action" || name == "actions" {
			p.Windows[name] = align.Window{To: time.Second}
		}
	}
	for _, w := range d.windows {
		name, span, _ := cutLast(w, "=")
		from, to, found := strings.Cut(span, ":")
		lo, good := seconds(from)
		hi, too := seconds(to)
		if !found || !good || !too {
			return p, usagef("--window: got %q, want NAME=FROM:TO such as action=0s:1s or state=-500ms:0s, or in numbers of seconds, state=-0.5:0", w)
		}
		if all := append(slices.Clip(names), d.cameras.names()...); !slices.Contains(all, name) {
			return p, usagef("--window: got stream %q, want one of %s", name, strings.Join(all, ", "))
		}
		p.Windows[name] = align.Window{From: lo, To: hi}
	}
	return p, nil
}

// seconds reads a length of time; a number is one of seconds.
func seconds(text string) (time.Duration, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	sec, err := decimal.ParseFloat(text, 64)
	return time.Duration(math.Round(sec * 1e9)), err == nil && math.Abs(sec) < 9e9
}

// take reads the values of --stream: a name, or one with columns as resample takes it. What resample takes besides, batches have in a plan.
func (b *batching) take() error {
	b.streams, b.taken = nil, nil
	for _, f := range b.asked {
		s := align.Stream{Name: f}
		if i := strings.LastIndexByte(f, '['); i >= 0 && strings.HasSuffix(f, "]") {
			var err error
			if s, err = parseStream(f, []string{f[:i]}); err != nil {
				return err
			}
		}
		b.streams, b.taken = append(b.streams, s.Name), append(b.taken, s)
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

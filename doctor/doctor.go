package doctor

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// room is the most bytes of episodes that Examine has in memory, unless one episode alone has more.
const room = 32 << 20

// Examine reads every episode of d and returns the findings. An episode that cannot be read is a finding. Examine returns an error only if ctx ends.
func Examine(ctx context.Context, d dataset.Dataset, opt Options) (*Report, error) {
	r := &Report{Findings: []Finding{}, Checked: Checked{Rates: []Rate{}, Kinds: Kinds()}}
	r.Checked.Paths = []Source{{Path: opt.Path, Name: d.Name(), Format: d.Format(), Episodes: d.Len()}}
	info := d.Info()
	k := newCollector(r)
	together := newSchema(opt.Path, &info)
	stated := statisticsOf(ctx, d)
	work := newWorkspace()
	place := -1
	for e, err := range dataset.ParallelWithin(ctx, d, runtime.GOMAXPROCS(0), room) {
		place++
		number := info.Number(place)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if opt.Next != nil {
			opt.Next()
		}
		stretches := []*dataset.Episode{e}
		var back *dataset.SetBackError
		if err != nil {
			k.add(unread(number, err, opt.Path))
			if stretches = nil; errors.As(err, &back) {
				if stretches, err = readStretches(ctx, back); err != nil {
					k.add(unread(number, err, opt.Path))
				}
			}
			if stretches == nil {
				r.Checked.Unread++
			}
		}
		for _, e := range stretches {
			x := &examiner{e: e, n: number, info: &info, opt: &opt, work: work, stated: stated}
			for _, f := range x.examine() {
				k.add(f)
			}
			k.addStill(x)
			k.addRates(x)
			together.add(x)
			r.Checked.add(e, x.values)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	whole := Dataset(&info, opt)
	whole = append(whole, together.found()...)
	if r.Checked.Unread == 0 {
		whole = append(whole, stated.found(opt.Path)...)
	}
	if k.has(FrameTime, Gap, Duplicate, BackStep, FPSMismatch, TimeUnit, Float32Clock) { // which report the same for episodes, with more detail
		whole = slices.DeleteFunc(whole, func(f Finding) bool { return f.Kind == FrameTime })
	}
	k.addStuck()
	r.together = together
	r.Findings = append(whole, r.Findings...)
	sortFindings(r.Findings)
	return r, nil
}

// readStretches reads the stretches of a log whose clock was set back.
func readStretches(ctx context.Context, back *dataset.SetBackError) (list []*dataset.Episode, err error) {
	for n := range back.Stretches {
		e, err := back.Read(ctx, n+1)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// Unopened returns the report on a recording that cannot be opened because of err.
func Unopened(path string, err error) *Report {
	f := newFinding(Unreadable, "", 1, err.Error())
	f.Path = path
	return &Report{Findings: []Finding{*f}, Checked: Checked{Paths: []Source{{Path: path, Name: dataset.BaseName(path)}}, Unread: 1, Rates: []Rate{}, Kinds: Kinds()}}
}

// Episode examines one episode. number is its number in its dataset; info is the dataset's, or nil. The findings are in order, errors first.
func Episode(e *dataset.Episode, number int, info *dataset.Info, opt Options) []Finding {
	x := &examiner{e: e, n: number, info: info, opt: &opt, work: newWorkspace()}
	return x.examine()
}

// Dataset returns the findings about a dataset that need no episode, for example that a declared file is missing.
func Dataset(info *dataset.Info, opt Options) (list []Finding) {
	for _, n := range info.Notes.Of(dataset.ClassProblem, dataset.ClassDamage) {
		if n.Code == dataset.CodeEpisodesAbsent && n.Got == "" {
			continue // the notes of the files have findings
		}
		list = append(list, problem(&n, opt.Path))
	}
	list = append(list, overlaps(info.Splits, opt.Path)...)
	sortFindings(list)
	return list
}

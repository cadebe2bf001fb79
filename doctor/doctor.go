package doctor

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
)

// room is how many bytes of episodes Examine has in memory, unless one alone has more.
const room = 32 << 20

// mostDrawn is how many findings of one kind in one stream have a picture.
const mostDrawn = 3

// Options say what to look for. The zero value is the default.
type Options struct {
	// Path names what is examined, in the findings.
	Path string
	// MaxStep is the longest step of a clock that is no gap, of every clock; 0 is the greater of 20 ms and three medians, of clocks that have a rate.
	MaxStep time.Duration
	// Next is called after each episode that was read, unless nil.
	Next func()
}

// Examine reads every episode of d and returns what it found. An episode that cannot be read is a finding, and no error: only the end of ctx is.
func Examine(ctx context.Context, d dataset.Dataset, opt Options) (*Report, error) {
	r := &Report{Findings: []Finding{}, Checked: Checked{Rates: []Rate{}, Kinds: Kinds()}}
	r.Checked.Paths = []Source{{Path: opt.Path, Name: d.Name(), Format: d.Format(), Episodes: d.Len()}}
	info := d.Info()
	k := &keeper{report: r, listed: map[place]int{}, drawn: map[place]int{}, still: map[string][]Finding{}, resting: map[string]int{}, rates: map[string]int{}, moving: map[string]int{}}
	together := newSchema(opt.Path, &info)
	stated := staleOf(ctx, d)
	names := newKnown()
	number := -1
	for e, err := range dataset.ParallelWithin(ctx, d, runtime.GOMAXPROCS(0), room) {
		number++
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if opt.Next != nil {
			opt.Next()
		}
		if err != nil {
			r.Checked.Unread++
			k.keep(unread(number, err, opt.Path))
			continue
		}
		x := &examiner{e: e, n: number, info: &info, opt: &opt, known: names, stale: stated}
		for _, f := range x.examine() {
			k.keep(f)
		}
		k.rest(x)
		k.rate(x)
		together.add(x)
		r.Checked.add(e, x.seen)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	whole := Dataset(&info, opt)
	whole = append(whole, together.found()...)
	if r.Checked.Unread == 0 {
		whole = append(whole, stated.found(opt.Path)...)
	}
	if k.has(FrameTime, Gap, Duplicate, BackStep, FPSMismatch, TimeUnit, Float32Clock) { // which say the same of the episodes, and more
		whole = slices.DeleteFunc(whole, func(f Finding) bool { return f.Kind == FrameTime })
	}
	k.awake()
	r.together = together
	r.Findings = append(whole, r.Findings...)
	sortFindings(r.Findings)
	return r, nil
}

// Unopened is the report on what could not be opened.
func Unopened(path string, err error) *Report {
	f := newFinding(Unreadable, "", 1, err.Error())
	f.Path = path
	return &Report{Findings: []Finding{*f}, Checked: Checked{Paths: []Source{{Path: path, Name: dataset.BaseName(path)}}, Unread: 1, Rates: []Rate{}, Kinds: Kinds()}}
}

// Episode looks at one episode, whose number in its dataset is given, and of which info is what the dataset says of itself; nil if nothing. The findings
// are in order, errors first.
func Episode(e *dataset.Episode, number int, info *dataset.Info, opt Options) []Finding {
	x := &examiner{e: e, n: number, info: info, opt: &opt, known: newKnown()}
	return x.examine()
}

// Dataset returns the findings about a dataset that need none of its episodes: what it declares and is not so.
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

// place is where findings of one kind are.
type place struct {
	kind   Kind
	stream string
}

// keeper keeps the findings of episodes, as many of one kind and stream as are listed, and draws the first.
type keeper struct {
	report        *Report
	listed, drawn map[place]int
	still         map[string][]Finding // streams that never change in an episode, as many of each as are listed
	rates         map[string]int       // where each is in the report
	resting       map[string]int       // in how many episodes they do not
	moving        map[string]int       // and in how many they do
}

// rest notes which streams of an episode change.
func (k *keeper) rest(x *examiner) {
	for _, f := range x.still {
		if k.resting[f.Stream]++; k.resting[f.Stream] <= MostOfKind {
			if len(k.still[f.Stream]) < mostDrawn {
				f.drawn = f.plot()
			}
			f.plot = nil
			k.still[f.Stream] = append(k.still[f.Stream], f)
		}
	}
	for _, name := range x.moved {
		k.moving[name]++
	}
}

// rate notes how fast the streams of an episode are.
func (k *keeper) rate(x *examiner) {
	for _, c := range x.clocked {
		if c.stats.Median == 0 || x.e.Steps {
			continue
		}
		at, seen := k.rates[c.stream]
		if !seen {
			at = len(k.report.Checked.Rates)
			k.rates[c.stream] = at
			k.report.Checked.Rates = append(k.report.Checked.Rates, Rate{Path: x.opt.Path, Stream: c.stream, Lowest: c.stats.Rate})
		}
		r := &k.report.Checked.Rates[at]
		r.Episodes++
		r.Lowest, r.Highest, r.Jitter = min(r.Lowest, c.stats.Rate), max(r.Highest, c.stats.Rate), max(r.Jitter, c.stats.Jitter)
	}
}

// stillRare is how many times as often a stream must change as it does not, so that it is stuck where it does not: an arm may be used now and then.
const stillRare = 4

// awake keeps the findings of streams that change in nearly all other episodes.
func (k *keeper) awake() {
	for _, name := range slices.Sorted(maps.Keys(k.still)) {
		if k.moving[name] < stillRare*k.resting[name] {
			continue
		}
		for _, f := range k.still[name] {
			k.keep(f)
		}
		k.report.Checked.Unlisted += k.resting[name] - len(k.still[name])
	}
}

func (k *keeper) keep(f Finding) {
	at := place{f.Kind, f.Stream}
	if k.listed[at]++; k.listed[at] > MostOfKind {
		k.report.Checked.Unlisted++
		return
	}
	if f.plot != nil && k.drawn[at] < mostDrawn {
		k.drawn[at]++
		f.drawn = f.plot()
	}
	f.plot = nil // which holds the episode
	k.report.Findings = append(k.report.Findings, f)
}

// has reports whether a finding of an episode is of one of these kinds.
func (k *keeper) has(kinds ...Kind) bool {
	for at := range k.listed {
		if slices.Contains(kinds, at.kind) {
			return true
		}
	}
	return false
}

func (c *Checked) add(e *dataset.Episode, values int) {
	c.Episodes++
	c.Streams += len(e.Streams)
	c.Cameras += len(e.Media)
	c.Clouds += len(e.Clouds)
	c.Values += values
	for i := range e.Streams {
		c.Samples += e.Streams[i].Len()
	}
	for i := range e.Media {
		c.Frames += e.Media[i].Len()
	}
}

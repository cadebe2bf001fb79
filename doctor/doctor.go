package doctor

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// room limits the episodes that Examine holds in memory, in bytes. A single episode may exceed it.
const room = 32 << 20

// Examine reads every episode in d and returns the findings. An episode that cannot be read is a finding. Examine returns an error
// if ctx ends, and for errors that stop every reader: see [dataset.IsFatal].
func Examine(ctx context.Context, d dataset.Dataset, opt Options) (*Report, error) {
	m := NewExamination(ctx, d, opt)
	place := -1
	for e, err := range dataset.ParallelWithin(ctx, d, runtime.GOMAXPROCS(0), room) {
		place++
		number := m.info.Number(place)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if opt.Next != nil {
			opt.Next()
		}
		if m.Add(ctx, number, e, err); m.fatal != nil {
			return nil, m.fatal
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := m.findings.report
	r.together = m.together
	r.Findings = append(r.Findings, m.Compare()...)
	sortFindings(r.Findings)
	return r, nil
}

// Examination examines the episodes of a dataset one after the other, for a program that reads them itself: call Add for each
// episode, and Compare after the last. Its methods are for one goroutine at a time.
type Examination struct {
	info      dataset.Info
	opt       Options
	findings  *collector
	together  *schema
	stated    *statistics
	work      *workspace
	decoders  map[string]bool // cameras that were checked, by name and encoding
	undecoded dataset.Notes   // cameras without a decoder
	fatal     error           // the first error that ends the reading
}

// NewExamination returns an examination of d, before its first episode.
func NewExamination(ctx context.Context, d dataset.Dataset, opt Options) *Examination {
	r := &Report{Findings: []Finding{}, Checked: Checked{Rates: []Rate{}, Kinds: generalKinds()}}
	r.Checked.Paths = []Source{{Path: opt.Path, Name: d.Name(), Format: d.Format(), Episodes: d.Len()}}
	m := &Examination{info: d.Info(), opt: opt, findings: newCollector(r), work: newWorkspace(), decoders: map[string]bool{}}
	done := dataset.Watched(opt.Path, &m.fatal)
	m.stated = statisticsOf(ctx, d)
	done()
	for _, n := range m.info.Notes {
		r.Notes.Join(dataset.EpisodeNote{Note: n, Number: Whole})
	}
	m.together = newSchema(opt.Path, &m.info)
	return m
}

// Add examines the next episode, or adds the finding that it cannot be read if err is not nil. It returns the findings about this
// episode alone, like [Episode]. If err is a *dataset.SetBackError, Add reads the stretches of the log until ctx ends.
func (m *Examination) Add(ctx context.Context, number int, e *dataset.Episode, err error) (list []Finding) {
	stretches := []*dataset.Episode{e}
	var back *dataset.SetBackError
	if err != nil {
		list = append(list, m.unread(number, err))
		if stretches = nil; errors.As(err, &back) {
			if stretches, err = readStretches(ctx, back); err != nil {
				list = append(list, m.unread(number, err))
			}
		}
		if stretches == nil {
			m.findings.report.Checked.Unread++
		}
	}
	for _, e := range stretches {
		e, err := checkFrames(ctx, e)
		if err != nil && ctx.Err() == nil {
			list = append(list, m.unread(number, err))
		}
		m.checkDecoders(ctx, e)
		x := &examiner{e: e, n: number, info: &m.info, opt: &m.opt, work: m.work, stated: m.stated}
		list = append(list, x.examine()...)
		m.findings.addStill(x)
		m.findings.addRates(x)
		m.together.add(x)
		m.findings.report.Checked.add(e, x.values)
		m.findings.report.Notes.Add(number, e.Name, e.Notes)
	}
	for _, f := range list {
		m.findings.add(f)
	}
	return list
}

// unread returns the finding about an episode that cannot be read.
func (m *Examination) unread(number int, err error) Finding {
	if m.fatal == nil && dataset.IsFatal(err) {
		m.fatal = err
	}
	return unread(number, err, m.opt.Path)
}

// Compare returns the findings about the whole dataset, and findings about episodes that differ from the others. Call it once,
// after the last episode.
func (m *Examination) Compare() []Finding {
	whole := append(Dataset(&m.info, m.opt), m.together.found()...)
	if m.stated != nil {
		for _, n := range m.stated.notes {
			whole = append(whole, problem(&n, m.opt.Path))
		}
	}
	for _, n := range m.undecoded {
		t := leftOut[n.Code]
		f := findingOf(t.kind, &n)
		f.Path = m.opt.Path
		f.as(&t)
		whole = append(whole, *f)
	}
	whole = append(whole, m.stated.found(m.opt.Path, m.findings.report.Checked.Unread == 0)...)
	if m.findings.has(FrameTime, Gap, Duplicate, BackStep, FPSMismatch, TimeUnit, Float32Clock) { // which report the same for episodes, with more detail
		whole = slices.DeleteFunc(whole, func(f Finding) bool { return f.Kind == FrameTime })
	}
	return grouped(append(whole, m.findings.stuck()...))
}

// checkFrames reads the frames that are not read when an episode is opened. It returns a copy of e with notes about bad frames.
func checkFrames(ctx context.Context, e *dataset.Episode) (*dataset.Episode, error) {
	checked := *e
	checked.Notes = slices.Clone(e.Notes)
	for i := range e.Media {
		if source, ok := e.Media[i].Source.(dataset.Checker); ok {
			notes, err := source.Check(ctx)
			if err != nil {
				return e, err
			}
			checked.Notes = append(checked.Notes, notes...)
		}
	}
	return &checked, nil
}

// checkDecoders adds a note about each camera without a decoder on this machine, at the first episode with its encoding.
func (m *Examination) checkDecoders(ctx context.Context, e *dataset.Episode) {
	for i := range e.Media {
		c := &e.Media[i]
		source, ok := c.Source.(dataset.DecoderChecker)
		if name := c.Name + "\x00" + c.Encoding; ok && !m.decoders[name] {
			m.decoders[name] = true
			if err := source.CheckDecoder(ctx); errors.Is(err, dataset.ErrUnsupported) {
				m.undecoded.Add(dataset.Note{Code: dataset.CodeFramesUndecoded, Subject: c.Name, Detail: dataset.Detail{Cause: err}})
			}
		}
	}
}

// readStretches reads every stretch in a log with a clock that was set back, the first one too. Each becomes an episode.
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
	return &Report{Findings: []Finding{*f}, Checked: Checked{Paths: []Source{{Path: path, Name: dataset.BaseName(path)}}, Unread: 1, Rates: []Rate{}, Kinds: generalKinds()}}
}

// Episode examines one episode. number is its number in its dataset; info is the dataset's Info, or nil. The findings are sorted,
// errors first.
func Episode(e *dataset.Episode, number int, info *dataset.Info, opt Options) []Finding {
	x := &examiner{e: e, n: number, info: info, opt: &opt, work: newWorkspace()}
	return x.examine()
}

// Dataset returns the findings that need no episode, for example a missing file that the dataset declares.
func Dataset(info *dataset.Info, opt Options) (list []Finding) {
	for _, n := range info.Notes.Of(dataset.ClassProblem, dataset.ClassDamage) {
		if n.Code == dataset.CodeEpisodesAbsent && n.Got == "" {
			continue // the notes of the files have findings
		}
		list = append(list, problem(&n, opt.Path))
	}
	list = grouped(append(list, overlaps(info.Splits, opt.Path)...))
	sortFindings(list)
	return list
}

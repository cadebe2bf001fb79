package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/ops"
)

// ready is an episode that was read and aligned, or why there is none.
type ready struct {
	e        *Episode
	about    EpisodeReport
	accounts []StreamAccount
	losses   []Loss
	notes    dataset.Notes
	bytes    int64 // that the episode takes while it is worked on
	err      error // ends the conversion
}

// prepare reads an episode and makes of it what a Target gets.
func (c *Conversion) prepare(ctx context.Context, number int) (r ready) {
	in, which, index := at(c.inputs, number)
	r.about = EpisodeReport{Number: number, Input: which, Index: index}
	if p := c.opt.Plan; p != nil && p.Filter.RefusesSplit(in.split[index]) {
		r.about.Filtered = dataset.SplitField
		return r
	}
	e, err := in.from.Episode(ctx, index)
	if err != nil {
		return c.unread(ctx, r, &dataset.EpisodeError{Episode: index, Err: err})
	}
	r.about.Name, r.about.Task, r.about.Success = e.Name, e.Attributes.Task, e.Attributes.Success
	if c.filtered(&r) {
		return r
	}
	r.e = &Episode{Episode: e, Recorded: e, Number: number, Input: which, Index: index, Splits: in.split[index]}
	r.losses = losses(e)
	if c.opt.Plan == nil {
		r.notes = e.Notes.Of(dataset.ClassRemark)
		err = c.asRecorded(&r, in)
	} else {
		err = c.byPlan(ctx, &r)
	}
	if err != nil {
		return c.unread(ctx, r, err)
	}
	var left dataset.Notes
	if r.e.Aligned != nil {
		left = r.e.Aligned.Report.Notes.Of(dataset.ClassLeftOut)
	}
	r.e.Lost = lostOf(e, left)
	r.bytes = 2 * (e.Bytes() + e.Record)
	if r.e.Aligned != nil {
		r.bytes += 2 * r.e.Bytes()
	}
	return r
}

// filtered notes why the plan does not want an episode.
func (c *Conversion) filtered(r *ready) bool {
	if p := c.opt.Plan; p != nil {
		r.about.Filtered = p.Filter.Refuses(c.inputs[r.about.Input].split[r.about.Index], r.about.Task, r.about.Success)
	}
	return r.about.Filtered != dataset.NoField
}

// unread is an episode that cannot be had: it costs itself, unless the conversion is strict, or the reason is no matter of this episode.
func (c *Conversion) unread(ctx context.Context, r ready, err error) ready {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if c.opt.Reading.Strict || !ofEpisode(err) {
		r.err = &EpisodeError{Number: r.about.Number, Input: c.inputs[r.about.Input].path, Err: err}
		return r
	}
	r.e, r.accounts, r.about.Skipped = nil, nil, &dataset.Note{Code: dataset.CodeEpisodeUnread, Subject: r.about.Name, Detail: dataset.Detail{Cause: err}}
	r.about.LeftOut, r.about.NotValid = 0, 0
	return r
}

// ofEpisode reports whether an error is of what one episode holds, and says nothing of the next: a file that breaks its format, streams that cannot be
// put on a clock, content that the output has no place for. A file that is gone, a disk that is full and a decoder that there is not are no such thing.
func ofEpisode(err error) bool {
	var path *fs.PathError
	var program *video.ProgramError
	if errors.As(err, &path) || errors.As(err, &program) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var (
		format  *dataset.FormatError
		stream  *dataset.StreamError
		missing *align.MissingError
		aligned *align.StreamError
		none    *align.NoStreamsError
		span    *align.RangeError
		size    *align.SizeError
		steps   *align.StepsError
		refused *RefusedError
		lost    *LostError
	)
	for _, as := range []any{&format, &stream, &missing, &aligned, &none, &span, &size, &steps, &refused, &lost} {
		if errors.As(err, as) {
			return true
		}
	}
	return false
}

// EpisodeError is an episode that ended a conversion.
type EpisodeError struct {
	Number int    // counted over all inputs
	Input  string // its path
	Err    error
}

func (e *EpisodeError) Error() string { return fmt.Sprintf("%s: %v", e.Input, e.Err) }

// Unwrap returns why.
func (e *EpisodeError) Unwrap() error { return e.Err }

// ClockError says that a format needs all of an episode on one clock, and that a recording has several.
type ClockError struct {
	Target, Episode string
	A, B            string // two streams whose timestamps differ
}

func (e *ClockError) Error() string {
	return fmt.Sprintf("convert: %s has one clock for all streams: got episode %s, whose %s and %s have clocks of their own, want a rate or a plan",
		e.Target, e.Episode, e.A, e.B)
}

// Unwrap returns dataset.ErrMissing.
func (e *ClockError) Unwrap() error { return dataset.ErrMissing }

// asRecorded keeps an episode's streams as they are.
func (c *Conversion) asRecorded(r *ready, in *input) error {
	own := *r.e.Recorded
	own.Media = nil
	account := func(name, kind string, n int) *StreamAccount {
		r.accounts = append(r.accounts, StreamAccount{Name: name, Kind: kind, Episodes: 1, Read: n, Used: n, Rows: n, Valid: n})
		return &r.accounts[len(r.accounts)-1]
	}
	for i := range own.Streams {
		if err := own.Streams[i].Check(); err != nil {
			return err
		}
		a := account(own.Streams[i].Name, streamKind, own.Streams[i].Len())
		if !c.traits.Integers || own.Streams[i].Integers == nil {
			a.Rounded = own.Streams[i].Inexact
		}
	}
	for _, m := range r.e.Recorded.Media {
		if a := account(m.Name, mediaKind, m.Len()); c.wantsMedia(m.Name) {
			own.Media = append(own.Media, m)
		} else {
			a.dropAll(dataset.Note{Code: dataset.CodeNotSelected})
		}
	}
	for i := range own.Clouds {
		account(own.Clouds[i].Name, cloudsKind, own.Clouds[i].Len())
	}
	r.e.Episode = &own
	r.unknown(c)
	if c.traits.Rows {
		r.withoutEmpty(&own)
	}
	times, a, b := oneClock(&own)
	if a == "" && times != nil {
		r.e.Times, r.e.Rate = times, rateOf(times, in.info.Rate)
	}
	switch {
	case len(own.Streams)+len(own.Media)+len(own.Clouds) == 0, c.traits.Rows && a == "" && len(times) == 0:
		return &RefusedError{empty(&own)}
	case c.traits.Rows && r.e.Times == nil && in.info.Rate > 0:
		if err := short(&own); err != nil {
			return &RefusedError{err}
		}
		fallthrough
	case c.traits.Rows && r.e.Times == nil:
		return &ClockError{Target: c.target.Name(), Episode: own.Name, A: a, B: b}
	}
	r.about.Rows = len(r.e.Times)
	return nil
}

// ShortError says that an episode of a dataset of rows has fewer frames of a camera than rows, as where a video ends before its table does.
type ShortError struct {
	Camera       string
	Frames, Rows int
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("%s has frames for %d of %d rows: want one for each, or a plan or rate (--plan, --hz), which takes the rows that have one", e.Camera, e.Frames, e.Rows)
}

// short returns a *ShortError if nothing else keeps an episode from having one clock.
func short(e *dataset.Episode) error {
	var rows []int64
	for i := range e.Streams {
		if own := e.Streams[i].Nanoseconds(); i == 0 {
			rows = own
		} else if !slices.Equal(own, rows) {
			return nil
		}
	}
	var found *ShortError
	for i := range e.Media {
		m := &e.Media[i]
		k := 0
		for _, t := range rows {
			if k < m.Len() && m.Times[k] == t {
				k++
			}
		}
		if k < m.Len() {
			return nil
		}
		if found == nil && k < len(rows) {
			found = &ShortError{m.Name, m.Len(), len(rows)}
		}
	}
	if found == nil || len(e.Clouds) > 0 {
		return nil
	}
	return found
}

// empty says that there is nothing in a recording, and what was lost of it.
func empty(e *dataset.Episode) error {
	if damage := e.Notes.Damage(); damage != nil {
		return fmt.Errorf("no samples; lost: %v", damage)
	}
	return errors.New("no samples")
}

// The kinds of accounts.
const (
	streamKind = "stream"
	mediaKind  = "media"
	cloudsKind = "clouds"
)

// oneClock returns the times of an episode's rows, or two streams that have other times than each other. Clouds have no rows.
func oneClock(e *dataset.Episode) (times []int64, a, b string) {
	first := ""
	same := func(name string, own []int64) bool {
		if first == "" {
			first, times = name, own
		}
		return len(own) == len(times) && (len(own) == 0 || &own[0] == &times[0] || slices.Equal(own, times))
	}
	for i := range e.Streams {
		if s := &e.Streams[i]; !same(s.Name, s.Nanoseconds()) {
			return nil, first, s.Name
		}
	}
	for i := range e.Media {
		if m := &e.Media[i]; !same(m.Name, m.Times) {
			return nil, first, m.Name
		}
	}
	if len(e.Clouds) > 0 {
		return nil, cmp.Or(first, "the clouds"), e.Clouds[0].Name
	}
	return times, "", ""
}

// near is how far LeRobot lets a row be from its place, ns: what readers of rows allow.
const near = 100_000

// rateOf returns how many rows a second times have: what the dataset says; a whole number, if all times are within 0.1 ms of such a clock; or what the
// median step says, which rounding to nanoseconds has made a little wrong.
func rateOf(times []int64, said float64) float64 {
	if said > 0 {
		return said
	}
	rate := dataset.StatsOf(times).Rate
	whole := math.Round(rate)
	if whole < 1 || math.Abs(rate-whole) > 1e-4*rate {
		return rate
	}
	for i, t := range times {
		if math.Abs(float64(t-times[0])-float64(i)*1e9/whole) > near {
			return rate
		}
	}
	return whole
}

func (c *Conversion) wantsMedia(name string) bool {
	return len(c.opt.Media) == 0 || slices.Contains(c.opt.Media, name)
}

// byPlan puts an episode on the plan's clock.
func (c *Conversion) byPlan(ctx context.Context, r *ready) error {
	a, err := c.arrange(r.e.Recorded)
	if err != nil {
		return err
	}
	got, err := align.Resample(ctx, c.opt.Device, a.episode, a.plan)
	if err != nil {
		return err
	}
	if err := c.trim(r, got); err != nil {
		return err
	}
	r.notes = got.Report.Notes
	own := *r.e.Recorded
	own.Streams, own.Media, own.Clouds, own.Steps = nil, nil, nil, false
	lines, streams, taken := got.Report.Streams, got.Streams, map[string]bool{}
	got.Report.Streams, got.Streams = nil, nil
	for i := range streams {
		s, line := &streams[i], &lines[i]
		from := a.from(s.Name)
		taken[from.name] = true
		account := StreamAccount{Name: s.Name, Kind: streamKind, Episodes: 1, Read: from.samples, Rows: s.Len(),
			Valid: line.Valid, OutOfRange: line.OutOfRange, Gapped: line.Gapped, NotFinite: line.NotFinite, Rounded: line.Inexact}
		account.drop(dataset.CodeStrayTime, line.Stray)
		account.drop(dataset.CodeTimeInvalid, line.Timeless)
		if r.e.Times == nil {
			r.e.Times = s.Stream.Nanoseconds()
		}
		if from.media == nil {
			err = countUsed(s, &a.plan, &account)
			got.Streams, got.Report.Streams, own.Streams = append(got.Streams, *s), append(got.Report.Streams, *line), append(own.Streams, s.Stream)
		} else {
			account.Kind = mediaKind
			var m dataset.Media
			if m, err = pick(s, from.media, r.e.Times, &account); err == nil && c.traits.Rows {
				err = measure(ctx, &m)
			}
			if err == nil {
				own.Media = append(own.Media, m)
			}
		}
		if err != nil {
			return err
		}
		r.accounts = append(r.accounts, account)
	}
	r.untaken(taken, got.Report.Notes, c)
	r.unknown(c)
	r.e.Episode, r.e.Aligned, r.e.Rate, r.e.renamed = &own, got, a.plan.Rate, a.names
	r.about.Rows = len(r.e.Times)
	return ctx.Err()
}

// untaken accounts for what was recorded and is not on the clock.
func (r *ready) untaken(taken map[string]bool, left dataset.Notes, c *Conversion) {
	add := func(name, kind string, n int, code dataset.Code) {
		if taken[name] {
			return
		}
		why := dataset.Note{Code: code}
		if n := left.LeftOut(name); n != nil {
			why = *n
		}
		a := StreamAccount{Name: name, Kind: kind, Episodes: 1, Read: n}
		if slices.ContainsFunc(r.accounts, func(o StreamAccount) bool { return o.Name == name }) { // the plan gives that name to another
			a.Name += " (as recorded)"
		}
		a.dropNote(why, n)
		r.accounts = append(r.accounts, a)
	}
	for i := range r.e.Recorded.Streams {
		s := &r.e.Recorded.Streams[i]
		add(s.Name, streamKind, s.Len(), dataset.CodeNotInPlan)
	}
	for i := range r.e.Recorded.Media {
		m := &r.e.Recorded.Media[i]
		code := dataset.CodeNotInPlan
		if !c.wantsMedia(m.Name) {
			code = dataset.CodeNotSelected
		}
		add(m.Name, mediaKind, m.Len(), code)
	}
	for i := range r.e.Recorded.Clouds {
		s := &r.e.Recorded.Clouds[i]
		add(s.Name, cloudsKind, s.Len(), dataset.CodeCloudsByPlan)
	}
}

// unknown adds a note for each camera that was asked for and is not there.
func (r *ready) unknown(c *Conversion) {
	for _, name := range c.opt.Media {
		if name != "" && r.e.Recorded.MediaStream(name) == nil {
			r.notes = append(slices.Clip(r.notes), dataset.Note{Code: dataset.CodeMediaMissing, Subject: name})
		}
	}
}

// frameKinds are the kinds that a media stream can have.
var frameKinds = []string{"", ops.InterpPrevious.String(), ops.InterpNearest.String(), ops.InterpNext.String()}

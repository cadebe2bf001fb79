package convert

import (
	"context"
	"errors"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
)

// prepare reads an episode and converts it to the form that a Target takes. If the plan's filter rejects the episode, or if it is skipped,
// the result has no episode; if an error ends the conversion, the result has the error.
func (c *Conversion) prepare(ctx context.Context, number int) (r ready) {
	in, which, index := at(c.inputs, number)
	r.about = EpisodeReport{Number: number, Input: which, Index: in.info.Number(index)}
	if p := c.opt.Plan; p != nil && p.Filter.RefusesSplit(in.split[index]) {
		r.about.Filtered = dataset.SplitField
		return r
	}
	e, err := in.from.Episode(ctx, index)
	if err != nil {
		return c.unread(ctx, r, &dataset.EpisodeError{Episode: in.info.Number(index), Err: err})
	}
	r.about.Name, r.about.Task, r.about.Success = e.Name, e.Attributes.Task, e.Attributes.Success
	if c.filtered(&r, in.split[index]) {
		return r
	}
	if t := e.ChangingTask(in.info.Tasks); t != nil && !slices.ContainsFunc(e.Texts, isTask) {
		e.Texts = append(slices.Clip(e.Texts), *t)
	}
	if e.Attributes.Task == "" && !slices.ContainsFunc(e.Texts, isTask) {
		e.Attributes.Task, r.about.Task = c.opt.Task, c.opt.Task
	}
	r.e = &Episode{Episode: e, Recorded: e, Number: number, Input: which, Index: r.about.Index, Splits: in.split[index]}
	r.losses = losses(e)
	if c.opt.Plan == nil {
		r.notes = e.Notes.Of(dataset.ClassRemark)
		err = c.asRecorded(&r, in)
	} else {
		err = c.byPlan(ctx, &r)
	}
	var none *clocks.NoStreamsError
	if damage := e.Notes.Damage(); damage != nil && errors.As(err, &none) {
		err = &RefusedError{&EmptyError{damage}} // because the damage is why there is no stream
	}
	if err != nil {
		return c.unread(ctx, r, err)
	}
	for i := range e.Texts {
		if t := &e.Texts[i]; t.Task && t.Later && len(t.Times) > 0 {
			if n, _ := slices.BinarySearch(r.e.Times, t.Times[0]); n > 0 {
				r.notes.Add(dataset.Note{Code: dataset.CodeRowsWithoutTask, Subject: t.Name, Count: n, Detail: dataset.Detail{Of: len(r.e.Times)}})
			}
		}
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

// filtered records the field of the plan's filter that rejects the episode, if one does.
func (c *Conversion) filtered(r *ready, splits []string) bool {
	if p := c.opt.Plan; p != nil {
		r.about.Filtered = p.Filter.Refuses(splits, r.about.Task, r.about.Success)
	}
	return r.about.Filtered != dataset.NoField
}

// unread handles an episode that cannot be read. It is skipped, unless the conversion is strict or the error does not concern this
// episode.
func (c *Conversion) unread(ctx context.Context, r ready, err error) ready {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if c.opt.Reading.Strict || !ofEpisode(err) {
		r.err = &EpisodeError{Number: r.about.Number, Input: c.inputs[r.about.Input].path, Err: err}
		return r
	}
	var of *dataset.EpisodeError
	if errors.As(err, &of) { // the report has the number
		err = of.Err
	}
	why := unreadNote(r.about.Name, err)
	r.e, r.accounts, r.about.Skipped = nil, nil, &why
	r.about.LeftOut, r.about.NotValid = 0, 0
	return r
}

// unreadNote is about an episode that is not converted because of err.
func unreadNote(name string, err error) dataset.Note {
	return dataset.Note{Code: dataset.CodeEpisodeUnread, Subject: name, Detail: dataset.Detail{Cause: err}}
}

// asRecorded sets the episode to write without a plan: the recorded streams, and the selected media, on their own clocks. If the target
// needs one clock and the recording has several, the error is a *ClockError; if nothing is left to write, a *RefusedError.
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
		if err := r.withoutLast(&own); err != nil {
			return err
		}
	}
	times, a, b := oneClock(&own)
	if a == "" && times != nil {
		r.e.Times, r.e.Rate = times, rateOf(times, in.info.Rate)
	}
	switch {
	case len(own.Streams)+len(own.Media)+len(own.Clouds) == 0, c.traits.Rows && a == "" && len(times) == 0:
		return &RefusedError{&EmptyError{own.Notes.Damage()}}
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

// byPlan sets the episode to write with a plan: its streams and media on the plan's clock. Its errors are those of arrange,
// align.Resample and trim.
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
	r.notes = slices.DeleteFunc(slices.Clone(got.Report.Notes), func(n dataset.Note) bool { // already among the losses
		return slices.ContainsFunc(r.losses, func(o dataset.Note) bool { return o.String() == n.String() })
	})
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
			err = countUsed(s, &a.plan, nil, &account)
			got.Streams, got.Report.Streams, own.Streams = append(got.Streams, *s), append(got.Report.Streams, *line), append(own.Streams, s.Stream)
		} else {
			account.Kind = mediaKind
			var m dataset.Media
			if m, err = pick(s, &a.plan, from.media, r.e.Times, &account); err == nil && c.traits.Rows {
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

func isTask(t dataset.TextStream) bool { return t.Task }

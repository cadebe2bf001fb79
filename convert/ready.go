package convert

import (
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// ready is an episode that was read and aligned, or the reason why it was not.
type ready struct {
	e        *Episode
	about    EpisodeReport
	accounts []StreamAccount
	losses   dataset.Notes // content that the reader did not return
	notes    dataset.Notes
	bytes    int64 // memory for the episode while it is converted
	err      error // ends the conversion
}

// losses returns the notes about recorded content that no stream has: left out by the reader, broken, or lost by the recorder.
func losses(e *dataset.Episode) dataset.Notes {
	list := e.Notes.Of(dataset.ClassLeftOut, dataset.ClassDamage)
	if n := len(e.Dropouts); n > 0 {
		list = append(list, dataset.Note{Code: dataset.CodeRecorderDropouts, Count: n})
	}
	return list
}

// withoutEmpty leaves out streams without samples if others have samples, because they have no row of the common clock.
func (r *ready) withoutEmpty(own *dataset.Episode) {
	if !slices.ContainsFunc(r.accounts, func(a StreamAccount) bool { return a.Rows > 0 }) {
		return
	}
	empty := func(name string, n int) bool {
		if n == 0 {
			r.notes = append(slices.Clip(r.notes), dataset.Note{Code: dataset.CodeNoSamples, Subject: name})
		}
		return n == 0
	}
	own.Streams = slices.DeleteFunc(slices.Clone(own.Streams), func(s dataset.Stream) bool { return empty(s.Name, s.Len()) })
	own.Media = slices.DeleteFunc(slices.Clone(own.Media), func(m dataset.Media) bool { return empty(m.Name, m.Len()) })
	own.Clouds = slices.DeleteFunc(slices.Clone(own.Clouds), func(c dataset.CloudStream) bool { return empty(c.Name, c.Len()) })
}

// untaken adds accounts for recorded streams, cameras and clouds that are not in taken. All their samples count as dropped, with the reason
// from left.
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
		add(s.Name, cloudsKind, s.Len(), dataset.CodeCloudsNotAligned)
	}
}

// unknown adds a note for each selected camera that is missing.
func (r *ready) unknown(c *Conversion) {
	for _, name := range c.opt.Media {
		if name != "" && r.e.Recorded.MediaStream(name) == nil {
			r.notes = append(slices.Clip(r.notes), dataset.Note{Code: dataset.CodeMediaMissing, Subject: name})
		}
	}
}

// withoutLast drops the last sample in streams that have one more than the others, together with its time. It is the observation
// after the last step.
func (r *ready) withoutLast(e *dataset.Episode) (err error) {
	var rows []int64
	for i := range e.Streams {
		if own := e.Streams[i].Nanoseconds(); i == 0 || len(own) < len(rows) {
			rows = own
		}
	}
	e.Streams = slices.Clone(e.Streams)
	for i := range e.Streams {
		s := &e.Streams[i]
		if own := s.Nanoseconds(); len(rows) == 0 || len(own) != len(rows)+1 || !slices.Equal(own[:len(rows)], rows) {
			continue
		}
		for _, t := range []**tensor.Tensor{&s.Times, &s.Values, &s.Integers} {
			if *t != nil && err == nil {
				*t, err = (*t).Slice(0, 0, len(rows))
			}
		}
		a := &r.accounts[slices.IndexFunc(r.accounts, func(a StreamAccount) bool { return a.Kind == streamKind && a.Name == s.Name })]
		a.Used, a.Rows, a.Valid = len(rows), len(rows), len(rows)
		a.drop(dataset.CodeAfterClock, 1)
	}
	return err
}

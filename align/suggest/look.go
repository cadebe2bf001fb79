package suggest

import (
	"math"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/plausible"
)

// look adds an episode's statistics to the draft. If no plan can use the episode, it returns an error.
func (g *draft) look(e *dataset.Episode) error {
	if err := (&align.Preparer{}).CheckEpisode(e); err != nil {
		return err
	}
	g.out.Looked++
	g.summary.Add(e)
	g.custom = e.Rotation
	if s := e.Attributes.Success; s != nil && *s {
		g.good++
	} else if s != nil {
		g.bad++
	}
	var all cover.Cover
	covers := map[string]covered{}
	for i := range e.Streams {
		st := e.Streams[i].Stats()
		if st.Samples-st.Duplicates < 2 || st.BackSteps > 0 {
			continue
		}
		if _, core, _, _, err := cover.Core(&e.Streams[i]); err == nil {
			if all == (cover.Cover{}) {
				all = core
			}
			all.First, all.Last = min(all.First, core.First), max(all.Last, core.Last)
			if st.Samples >= leastApart {
				covers[e.Streams[i].Name] = covered{core, float64(st.Jitter) < even*float64(st.Median)}
			}
		}
	}
	g.covers = append(g.covers, covers)
	g.lengths = append(g.lengths, time.Duration(all.Length()))
	for i := range e.Streams {
		if err := g.stream(&e.Streams[i], time.Duration(all.Length())); err != nil {
			return err
		}
	}
	return nil
}

// stream adds the statistics of an episode's stream to its candidate. recording is the episode's length. An invalid stream becomes a note.
func (g *draft) stream(in *dataset.Stream, recording time.Duration) error {
	if err := in.Check(); err != nil {
		g.out.Notes.Add(dataset.Note{Code: dataset.CodeInvalidStream, Subject: in.Name, Count: in.Len(), Detail: dataset.Detail{Cause: err}})
		return nil
	}
	at, there := g.at[in.Name]
	if !there {
		at = len(g.streams)
		g.at[in.Name] = at
		g.streams = append(g.streams, &candidate{from: in.Name, typ: in.Type, seldom: true, single: true, even: true})
	}
	s, st := g.streams[at], in.Stats()
	if st.Samples == 0 {
		return nil
	}
	if !there {
		for _, n := range plausible.Units(in.Name, in.Times, st) {
			s.note("its timestamps are taken as nanoseconds, and are %s a second; as %s they would be %s", n.Got, n.Unit, n.Want)
			g.out.Notes.Add(n)
		}
	}
	s.episodes++
	s.samples += st.Samples
	s.backs += st.BackSteps
	s.seldom = s.seldom && float64(st.Samples) < recording.Seconds()
	if st.Samples-st.Duplicates >= 2 {
		s.single = false
	}
	limit := dataset.GapLimit(st.Median)
	s.usual = max(s.usual, st.Median)
	times := in.Nanoseconds()
	if all, core, lo, hi, err := cover.Core(in); err == nil && st.BackSteps == 0 {
		g.out.Notes.Join(cover.Strays(in.Name, all, core, dataset.CodeStrayUnset, 0))
		times = times[lo:hi]
	}
	steps, stepped := 0, 0. // without gaps: their number, and their sum in median steps
	for i := 1; i < len(times); i++ {
		switch step := times[i] - times[i-1]; {
		case step > int64(limit):
			s.gaps++
			s.longest = max(s.longest, step)
		case step > 0:
			steps++
			stepped += float64(step) / float64(st.Median)
		}
	}
	if steps > 0 {
		s.even = s.even && float64(st.Jitter) < even*float64(st.Median) && math.Abs(stepped/float64(steps)-1) < .02
	}
	s.steps += steps
	s.stepped += stepped
	return s.see.Add(in)
}

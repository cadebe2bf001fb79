package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// The rules for comparing episodes and datasets.
const (
	otherRate = 1.25 // ratio of two rates that is a difference
	inCommon  = 0.5  // least share of the streams of the smaller dataset that both have if they are of one robot
)

// schema compares each episode's streams with the same streams in the first episode that has them, and one dataset's streams with
// another's.
type schema struct {
	path     string
	declared bool     // the dataset declares its rate and features; the reader and the checks of clocks compare these
	episodes int      // without damaged ones: a stream that these lack may be in their lost parts
	first    string   // name of the first of these
	damaged  bool     // an episode is damaged
	names    []string // of the streams, in the order of their first episode
	streams  map[string]*streamHistory
	cameras  map[string]*dataset.Feature // as declared
	videos   map[string]*videoMismatch
}

// videoMismatch counts the differences of a camera's videos from its declaration.
type videoMismatch struct{ size, rate, encoding mismatch }

// streamHistory has the properties of a stream over the episodes.
type streamHistory struct {
	columns []dataset.Column
	rate    float64 // of the first episode in which the stream has a rate; 0 if there is none
	first   string  // name of the first episode with the stream
	timed   string  // name of the episode with that rate
	has     int     // number of episodes with the stream, without damaged ones
	always  bool    // the stream has a rate in each of these
	lacking string  // name of the first episode without the stream
	lacks   bool    // an episode lacks the stream

	columnsDiffer, ratesDiffer mismatch
}

// mismatch counts the episodes that differ from the first.
type mismatch struct {
	episodes int
	how      string // description of the first of them
	order    bool   // only the order of columns differs, in all of them
}

// newSchema returns the schema of a dataset without episodes.
func newSchema(path string, info *dataset.Info) *schema {
	s := &schema{path: path, declared: info.Declared > 0 && info.RateFrom != "caller", streams: map[string]*streamHistory{},
		cameras: map[string]*dataset.Feature{}, videos: map[string]*videoMismatch{}}
	for i := range info.Features {
		if f := &info.Features[i]; f.Width > 0 || f.Rate > 0 || f.Encoding != "" {
			s.cameras[f.Name], s.videos[f.Name] = f, &videoMismatch{}
		}
	}
	return s
}

// add adds an episode after its clocks were checked.
func (s *schema) add(x *examiner) {
	in := func() string { return x.placed(&Finding{}).Where() }
	here, whole := map[string]bool{}, x.e.Notes.Damage() == nil
	see := func(name string, columns []dataset.Column, samples int) {
		if samples == 0 || here[name] {
			return
		}
		here[name] = true
		k, rate := s.streams[name], 0.0
		c := x.clockOf[name]
		if c != nil && c.steady && !c.wrong && !x.e.Steps {
			rate = c.stats.Rate
		}
		if k == nil {
			k = &streamHistory{columns: columns, first: in(), always: true}
			if s.episodes > 0 {
				k.lacks, k.lacking = true, s.first
			}
			s.names, s.streams[name] = append(s.names, name), k
		}
		if whole {
			k.has++
		}
		k.always = k.always && rate > 0
		if !dataset.SameColumns(k.columns, columns) {
			k.columnsDiffer.add(sameSet(k.columns, columns), func() string {
				return fmt.Sprintf("%s has %s, and %s %s", k.first, otherThan(k.columns, columns), in(), otherThan(columns, k.columns))
			})
		}
		switch {
		case rate == 0:
		case k.rate == 0:
			k.rate, k.timed = rate, in()
		case !s.declared && differs(rate, k.rate):
			k.ratesDiffer.add(false, func() string {
				return fmt.Sprintf("%s in %s, and %s in %s", hertz(k.rate), k.timed, hertz(rate), in())
			})
		}
	}
	for i := range x.e.Streams {
		see(x.e.Streams[i].Name, x.e.Streams[i].Columns, x.e.Streams[i].Len())
	}
	for i := range x.e.Media {
		see(x.e.Media[i].Name, nil, x.e.Media[i].Len())
		s.video(&x.e.Media[i], in)
	}
	for i := range x.e.Clouds {
		see(x.e.Clouds[i].Name, nil, x.e.Clouds[i].Len())
	}
	if !whole {
		s.damaged = true
		return
	}
	for name, k := range s.streams {
		if !here[name] && !k.lacks {
			k.lacks, k.lacking = true, in()
		}
	}
	if s.episodes++; s.episodes == 1 {
		s.first = in()
	}
}

// video compares a camera with its declaration.
func (s *schema) video(m *dataset.Media, in func() string) {
	f := s.cameras[m.Name]
	if f == nil {
		return
	}
	if f.Width > 0 && m.Width > 0 && m.Height > 0 && (f.Width != m.Width || f.Height != m.Height) {
		s.videos[m.Name].size.add(false, func() string {
			return fmt.Sprintf("it is declared to have %dx%d pixels, and its video has %dx%d in %s", f.Width, f.Height, m.Width, m.Height, in())
		})
	}
	if f.Rate > 0 && m.Rate > 0 && math.Abs(m.Rate/f.Rate-1) > rateDiffers {
		s.videos[m.Name].rate.add(false, func() string {
			return fmt.Sprintf("its video is declared to have %s, and has %s in %s", hertz(f.Rate), hertz(m.Rate), in())
		})
	}
	if f.Encoding != "" && m.Rate > 0 && f.Encoding != m.Encoding { // only videos have a rate; images may have another encoding
		s.videos[m.Name].encoding.add(false, func() string {
			return fmt.Sprintf("its video is declared to be %s, and is %s in %s", f.Encoding, m.Encoding, in())
		})
	}
}

func (u *mismatch) add(order bool, how func() string) {
	if u.episodes++; u.episodes == 1 {
		u.how, u.order = how(), order
	}
	u.order = u.order && order
}

func differs(a, b float64) bool { return a > otherRate*b || b > otherRate*a }

// otherThan describes the first difference of columns from others.
func otherThan(columns, others []dataset.Column) string {
	if len(columns) != len(others) {
		return text.Count(len(columns), "column")
	}
	for i, c := range columns {
		if c != others[i] {
			return fmt.Sprintf("as column %d %.40q of type %.40q", i, c.Name, c.Type)
		}
	}
	return "the same"
}

// sameSet reports whether two lists have the same columns in any order.
func sameSet(a, b []dataset.Column) bool {
	byName := func(list []dataset.Column) []dataset.Column {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b dataset.Column) int { return cmp.Compare(a.Name, b.Name) })
		return list
	}
	return slices.Equal(byName(a), byName(b))
}

// repeatedName returns a name that several columns have; empty if names are unique.
func repeatedName(columns []dataset.Column) string {
	seen := make(map[string]bool, len(columns))
	for _, c := range columns {
		if seen[c.Name] {
			return c.Name
		}
		seen[c.Name] = true
	}
	return ""
}

const (
	byName     = "Give each column a name of its own: where columns are taken by name, one of them stands for both."
	inOneOrder = "If columns are taken by their place, one joint is taken for another. List them under columns in the plan, in one order."
	withAll    = "Leave out the recordings that lack it, or the stream: training needs it in each. A node that was not started, or a topic that was not recorded, does this."
	asDeclared = "Correct the declaration if the video is right: policies are built for the declared size, and frames are looked for at the declared rate. Else encode the video again."
	oneRate    = "Resample all at one rate (a plan with a rate): taken row by row, the same motion is faster in one than in the other."
)

// found returns the findings about differences between the episodes.
func (s *schema) found() (list []Finding) {
	for _, name := range slices.SortedFunc(maps.Keys(s.streams), dataset.CompareNames) {
		k := s.streams[name]
		if twice := repeatedName(k.columns); twice != "" {
			list = append(list, s.finding(Schema, name, 1, fmt.Sprintf("several of its columns are called %.60q", twice), byName))
		}
		if u := &k.columnsDiffer; u.episodes > 0 {
			why, what := "its columns differ between episodes: ", advice[Schema].what
			if u.order {
				why, what = "its columns are the same in all episodes, but in another order: ", inOneOrder
			}
			list = append(list, s.finding(Schema, name, u.episodes, why+u.how+"; "+text.Count(u.episodes, "is not", "are not")+" as the first", what))
		}
		if u := &k.ratesDiffer; u.episodes > 0 {
			list = append(list, s.finding(MixedRates, name, u.episodes, fmt.Sprintf("it comes at %s; %s as the first", u.how,
				text.Count(u.episodes, "is not", "are not")), oneRate))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.videos)) {
		for _, u := range []struct {
			kind     Kind
			severity Severity
			mismatch
		}{{Schema, Error, s.videos[name].size}, {FPSMismatch, Error, s.videos[name].rate}, {Schema, Warning, s.videos[name].encoding}} {
			if u.episodes > 0 {
				f := newFinding(u.kind, name, u.episodes, fmt.Sprintf("%s; so in %s", u.how, text.Count(u.episodes, "episode")))
				f.Path, f.Severity, f.WhatToDo = s.path, u.severity, asDeclared
				list = append(list, *f)
			}
		}
	}
	if !s.declared {
		list = append(list, s.missingStreams()...)
	}
	return list
}

// missingStreams returns findings about streams with a rate that most episodes have and some lack. Streams that the same episodes lack are
// one finding.
func (s *schema) missingStreams() (list []Finding) {
	type group struct {
		missing int
		first   string
	}
	var groups []group
	streams := map[group][]string{}
	for _, name := range s.names {
		k := s.streams[name]
		g := group{s.episodes - k.has, k.lacking}
		if g.missing == 0 || g.missing > k.has || !k.always {
			continue
		}
		if streams[g] == nil {
			groups = append(groups, g)
		}
		streams[g] = append(streams[g], name)
	}
	for _, g := range groups {
		why := fmt.Sprintf("%s of %d without it, the first is %s", text.Count(g.missing, "episode"), s.episodes, g.first)
		list = append(list, s.finding(Schema, streams[g][0], g.missing, why+alsoOf(streams[g]), withAll))
	}
	return list
}

func alsoOf(streams []string) string {
	if len(streams) == 1 {
		return ""
	}
	return "; nor with " + text.List(streams[1:], mostNames)
}

func (s *schema) finding(kind Kind, stream string, n int, why, what string) Finding {
	f := newFinding(kind, stream, n, why)
	f.Path, f.Severity, f.WhatToDo = s.path, Warning, what
	return *f
}

// compare returns the differences of a dataset from an earlier one if both are of one robot.
func (s *schema) compare(o *schema) (list []Finding) {
	var both, missing, more []string
	for _, name := range s.names {
		if o.streams[name] != nil {
			both = append(both, name)
		} else if s.streams[name].always {
			more = append(more, name)
		}
	}
	for _, name := range o.names {
		if s.streams[name] == nil && o.streams[name].always {
			missing = append(missing, name)
		}
	}
	if float64(len(both)) < inCommon*float64(min(len(s.names), len(o.names))) || len(both) == 0 {
		return nil
	}
	for _, name := range both {
		a, b := o.streams[name], s.streams[name]
		if !dataset.SameColumns(a.columns, b.columns) {
			why, what := "its columns differ from ", advice[Schema].what
			if sameSet(a.columns, b.columns) {
				why, what = "its columns are in another order than in ", inOneOrder
			}
			list = append(list, s.finding(Schema, name, max(b.has, 1), fmt.Sprintf("%s%s, which has %s, where this has %s", why, o.path,
				otherThan(a.columns, b.columns), otherThan(b.columns, a.columns)), what))
		}
		if a.rate > 0 && b.rate > 0 && differs(a.rate, b.rate) {
			list = append(list, s.finding(MixedRates, name, max(b.has, 1), fmt.Sprintf("it comes at %s, and in %s at %s", hertz(b.rate), o.path, hertz(a.rate)), oneRate))
		}
	}
	if len(missing) > 0 && !s.damaged {
		list = append(list, s.finding(Schema, missing[0], 1, fmt.Sprintf("%s has it, and this has not%s", o.path, alsoOf(missing)), withAll))
	}
	if len(more) > 0 && !o.damaged {
		list = append(list, s.finding(Schema, more[0], 1, fmt.Sprintf("%s does not have it, and this has%s", o.path,
			strings.Replace(alsoOf(more), "nor with", "and", 1)), withAll))
	}
	return list
}

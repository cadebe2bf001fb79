package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Summary adds up the content of episodes. The zero value is empty. Add adds one episode and keeps no reference to it.
type Summary struct {
	Episodes int // number of added episodes
	Frames   int // rows or steps in all episodes; 0 for logs
	// Shortest and Longest are the fewest and the most frames in an episode.
	Shortest, Longest int
	Streams           []StreamSummary
	Media             []MediaSummary
	Clouds            []CloudSummary
	Tasks             []string         // different tasks, in the order of their first episodes
	LeftOut           []LeftOutSummary // in the order of their first episodes
	LostBytes         int64            // lost bytes in broken files
	Notes             Notes            // problems: a stream has other columns than in its first episode

	streams, media, clouds, left, tasks map[string]int // indices by name
}

// StreamSummary describes a stream over all episodes.
type StreamSummary struct {
	Name                        string
	Type                        string // the message type in its first episode
	Episodes                    int    // number of episodes with the stream
	Samples                     int
	First, Last                 int64 // smallest first and largest last timestamp over episodes, ns
	Shortest, Longest           int64 // shortest and longest time from the first to the last sample, ns
	Gaps, Duplicates, BackSteps int
	DType                       string // f32 or f64; "f32, f64" if episodes differ
	Columns                     []Column
	Inexact                     int
	Lossy                       int // sum of Stream.Lossy

	medians []int64
	others  bool // an episode had other columns
}

// Rate returns 1e9 divided by the median over the episodes' median steps, Hz; 0 without steps.
func (s *StreamSummary) Rate() float64 { return rateOf(s.medians) }

// Rates returns the lowest and highest rate over episodes, Hz; each is 1e9 divided by an episode's median step, and 0 without
// steps.
func (s *StreamSummary) Rates() (lowest, highest float64) {
	if len(s.medians) == 0 {
		return 0, 0
	}
	return 1e9 / float64(slices.Max(s.medians)), 1e9 / float64(slices.Min(s.medians))
}

// length is the duration of a clock, clamped to int64.
func length(s Stats) int64 {
	if d := s.Last - s.First; d >= 0 == (s.Last >= s.First) {
		return d
	}
	return math.MaxInt64
}

// MediaSummary describes a media stream over all episodes.
type MediaSummary struct {
	Name, Encoding string
	Type           string // the message type, like StreamSummary.Type
	Episodes       int    // number of episodes with the stream
	Frames         int
	Width, Height  int  // the first known size, pixels; 0 if no episode has one
	Undecoded      bool // true if Media.Decode cannot decode the frames in its first episode
	// DepthScale is DepthCamera.Scale in the first episode that has it; 0 if the frames are no depth images.
	DepthScale float64

	medians []int64
}

// Rate returns the frame rate, computed like StreamSummary.Rate.
func (m *MediaSummary) Rate() float64 { return rateOf(m.medians) }

// CloudSummary describes a point cloud series over all episodes.
type CloudSummary struct {
	Name     string
	Type     string // the message type, like StreamSummary.Type
	Episodes int    // number of episodes with the series
	Clouds   int

	medians []int64
}

// Rate returns the clouds' rate, computed like StreamSummary.Rate.
func (c *CloudSummary) Rate() float64 { return rateOf(c.medians) }

// LeftOutSummary is a note of ClassLeftOut with its number of episodes. Each pair of subject and code has one entry.
type LeftOutSummary struct {
	Note     // the note in the first episode with it
	Episodes int
}

func rateOf(medians []int64) float64 {
	if len(medians) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(medians))
	return 1e9 / float64(sorted[(len(sorted)-1)/2])
}

// place returns the index of a name in the order of first use, and whether the name is new.
func place(names *map[string]int, name string) (at int, fresh bool) {
	if *names == nil {
		*names = map[string]int{}
	}
	at, there := (*names)[name]
	if !there {
		at = len(*names)
		(*names)[name] = at
	}
	return at, !there
}

// Add adds an episode.
func (s *Summary) Add(e *Episode) {
	s.Episodes++
	s.Frames += e.Frames
	if s.Longest = max(s.Longest, e.Frames); s.Episodes == 1 || e.Frames < s.Shortest {
		s.Shortest = e.Frames
	}
	s.LostBytes += e.Notes.LostBytes()
	if e.Attributes.Task != "" {
		if _, fresh := place(&s.tasks, e.Attributes.Task); fresh {
			s.Tasks = append(s.Tasks, e.Attributes.Task)
		}
	}
	for i := range e.Streams {
		s.stream(&e.Streams[i])
	}
	for i := range e.Media {
		m := &e.Media[i]
		at, fresh := place(&s.media, m.Name)
		if fresh {
			s.Media = append(s.Media, MediaSummary{Name: m.Name, Type: m.Type, Encoding: m.Encoding, Undecoded: !m.Decodes()})
		}
		k := &s.Media[at]
		if m.Depth != nil && k.DepthScale == 0 {
			k.DepthScale = m.Depth.Scale
		}
		k.Episodes++
		k.Frames += m.Len()
		if k.Width == 0 {
			k.Width, k.Height = m.Width, m.Height
		}
		if st := m.Stats(); st.Median > 0 {
			k.medians = append(k.medians, st.Median)
		}
	}
	for i := range e.Clouds {
		c := &e.Clouds[i]
		at, fresh := place(&s.clouds, c.Name)
		if fresh {
			s.Clouds = append(s.Clouds, CloudSummary{Name: c.Name, Type: c.Type})
		}
		k := &s.Clouds[at]
		k.Episodes++
		k.Clouds += c.Len()
		if st := c.Stats(); st.Median > 0 {
			k.medians = append(k.medians, st.Median)
		}
	}
	counted := map[string]bool{}
	for _, n := range e.Notes.Of(ClassLeftOut) {
		key := string(n.Code) + "\x00" + n.Subject
		at, fresh := place(&s.left, key)
		if fresh {
			s.LeftOut = append(s.LeftOut, LeftOutSummary{Note: n})
		}
		if !counted[key] {
			counted[key] = true
			s.LeftOut[at].Episodes++
		}
	}
}

func (s *Summary) stream(in *Stream) {
	st := in.Stats()
	at, fresh := place(&s.streams, in.Name)
	if fresh {
		s.Streams = append(s.Streams, StreamSummary{Name: in.Name, Type: in.Type, Columns: in.Columns})
	}
	k := &s.Streams[at]
	k.Episodes++
	k.Gaps += st.Gaps
	k.Duplicates += st.Duplicates
	k.BackSteps += st.BackSteps
	k.Inexact += in.Inexact
	k.Lossy += in.Lossy()
	switch {
	case st.Samples == 0:
	case k.Samples == 0:
		k.First, k.Last = st.First, st.Last
		k.Shortest, k.Longest = length(st), length(st)
	default:
		k.First, k.Last = min(k.First, st.First), max(k.Last, st.Last)
		k.Shortest, k.Longest = min(k.Shortest, length(st)), max(k.Longest, length(st))
	}
	k.Samples += st.Samples
	if st.Median > 0 {
		k.medians = append(k.medians, st.Median)
	}
	if d := in.Values.DType().String(); !strings.Contains(k.DType, d) {
		if k.DType != "" {
			d = k.DType + ", " + d
		}
		k.DType = d
	}
	if !k.others && !slices.Equal(k.Columns, in.Columns) {
		k.others = true
		s.Notes.Add(Note{Code: CodeColumnsDiffer, Subject: in.Name, Count: 1, Row: At(s.Episodes - 1),
			Detail: Detail{Got: other(in.Columns, k.Columns), Want: other(k.Columns, in.Columns)}})
	}
}

// other describes the first difference between columns and the columns in another episode.
func other(columns, theirs []Column) string {
	switch {
	case len(columns) == len(theirs):
	case len(columns) == 1:
		return "1 column"
	default:
		return fmt.Sprintf("%d columns", len(columns))
	}
	for i, c := range columns {
		if c != theirs[i] {
			text := fmt.Sprintf("column %d %.40q of type %.40q", i, c.Name, c.Type)
			if c.Rotation != RotationNone {
				text += ", a part of a " + c.Rotation.String()
			}
			return text
		}
	}
	return ""
}

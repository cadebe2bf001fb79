package stats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/robocache/robocache/dataset"
	nearest "github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// State holds the partial statistics of a dataset after passes over some shards. [Begin] creates one, and [Read] reads one from a
// file.
type State struct {
	about
	number int // passes that have ended; -1 if all results are known
	mu     sync.Mutex
	by     map[string]*stream // by streamAbout.key
	kept   map[int][]piece    // values kept from the first pass, by episode number
}

// about is the JSON part of a state.
type about struct {
	Dataset, Format string
	Episodes        int                  // number of episodes in the dataset
	Quantiles       []float64            // the shares
	Selection       string               // the selected streams, columns and episodes
	Streams         []string             // the selected names; nil for all
	Others          []string             // sorted names of streams that are not selected
	Shards          int                  // number of shards; 0 for a single one
	Have            []int                // shards that the current pass has added, ascending
	Read, Filtered  int                  // added episodes, and episodes that the plan rejects
	Damaged         int                  // added episodes with parts that could not be read
	Skipped         []Skipped            // episodes that could not be read, by their numbers
	Notes           dataset.EpisodeNotes // readers' notes about the added episodes
}

// Skipped is an episode that could not be read.
type Skipped struct {
	Episode int    `json:"episode"` // number in the dataset
	Name    string `json:"name"`
	Reason  string `json:"reason"`
}

// MarshalJSON adds "code", the code dataset.CodeEpisodeUnread.
func (s Skipped) MarshalJSON() ([]byte, error) {
	type plain Skipped
	return json.Marshal(struct {
		plain
		Code dataset.Code `json:"code"`
	}{plain(s), dataset.CodeEpisodeUnread})
}

// stream has the statistics for streams with one name, dtype and columns.
type stream struct {
	streamAbout
	acc *Accumulator
}

type streamAbout struct {
	Name     string
	Columns  []string
	F64      bool
	Episodes int // number of episodes with the stream
	Rows     int64
	First    int // lowest number of an episode with the stream
	At       int // index of the stream in that episode
	Binned   binned
}

// key identifies streams with values that can be added together.
func (s *streamAbout) key() string { return fmt.Sprintf("%q %v %q", s.Name, s.F64, s.Columns) }

// mismatch returns a function for errors about two things that differ. The errors wrap ErrMismatch.
func mismatch(things string) func(what string, got, want any) error {
	return func(what string, got, want any) error {
		return fmt.Errorf("stats: %s %w: %s: got %v, want %v", things, ErrMismatch, what, got, want)
	}
}

// begin marks a shard as added to the current pass. It returns an error if the shard, the dataset or the options do not fit the
// state.
func (s *State) begin(d dataset.Dataset, opt *Options) error {
	bad := mismatch("state and dataset")
	switch {
	case opt.Shards < 0 || opt.Shards > 0 && (opt.Shard < 0 || opt.Shard >= opt.Shards):
		return fmt.Errorf("stats: got shard %d of %d, want one from 0, below how many there are", opt.Shard, opt.Shards)
	case d.Name() != s.Dataset || d.Format() != s.Format || d.Len() != s.Episodes:
		return bad("dataset", fmt.Sprintf("%s, %s, %d episodes", d.Name(), d.Format(), d.Len()), fmt.Sprintf("%s, %s, %d episodes", s.Dataset, s.Format, s.Episodes))
	case selection(d, opt) != s.Selection:
		return bad("episodes, plan and streams", "others", "the state's")
	case s.number < 0:
		return fmt.Errorf("stats: state and dataset %w: all is known already", ErrMismatch)
	case (s.number > 0 || len(s.Have) > 0) && opt.Shards != s.Shards:
		return bad("shards", opt.Shards, s.Shards)
	case slices.Contains(s.Have, opt.Shard):
		return bad("shard", opt.Shard, "one that was not added yet")
	}
	s.Shards, s.Have = opt.Shards, append(s.Have, opt.Shard)
	slices.Sort(s.Have)
	return nil
}

// stream returns the statistics to which a piece is added. The first pass creates them. In a later pass the error is ErrChanged if
// there are none.
func (s *State) stream(episode, at int, p *piece) (*stream, error) {
	about := streamAbout{Name: p.name, Columns: p.columns, F64: p.values.DType() == tensor.F64}
	key := about.key()
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.by[key]
	if s.number > 0 {
		if own == nil {
			return nil, ErrChanged
		}
		return own, nil
	}
	if own == nil {
		acc, err := NewAccumulator(len(p.columns), p.values.DType(), s.Quantiles)
		if err != nil {
			return nil, err
		}
		about.First, about.At = episode, at
		own = &stream{about, acc}
		if s.by == nil {
			s.by = map[string]*stream{}
		}
		s.by[key] = own
	}
	own.Episodes++
	own.Rows += int64(p.values.Dim(0))
	if episode < own.First {
		own.First, own.At = episode, at
	}
	return own, nil
}

// count adds the result of an episode in the first pass.
func (s *State) count(i int, r *done) {
	switch {
	case r.err != nil:
		s.Skipped = append(s.Skipped, Skipped{i, r.name, r.err.Error()})
	case r.filtered:
		s.Filtered++
	default:
		s.Read++
		s.Notes.Add(i, r.name, r.notes)
		if len(r.notes.Damage()) > 0 {
			s.Damaged++
		}
	}
}

// skipped reports whether an episode could not be read in the first pass.
func (s *State) skipped(i int) bool {
	return slices.ContainsFunc(s.Skipped, func(k Skipped) bool { return k.Episode == i })
}

// keep keeps an episode's values if room bytes are enough. It returns the remaining room, which is negative if they are not.
func (s *State) keep(i int, pieces []piece, room int) int {
	for _, p := range pieces {
		room -= p.values.Len() * p.values.DType().Size()
	}
	if room >= 0 && len(pieces) > 0 {
		if s.kept == nil {
			s.kept = map[int][]piece{}
		}
		s.kept[i] = pieces
	}
	return room
}

// passedOver records the name of a stream that is not selected, for error messages.
func (s *State) passedOver(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, found := slices.BinarySearch(s.Others, name); !found {
		s.Others = slices.Insert(s.Others, at, name)
	}
}

// missing returns a *dataset.StreamError if no episode has one of the selected streams.
func (s *State) missing() error {
	there := s.names()
	for _, name := range s.Streams {
		if s.Read > 0 && !slices.Contains(there, name) {
			return &dataset.StreamError{Stream: name, Arg: "name", Got: "no such stream", Want: "one of those there are: " + nearest.Closest(name, append(there, s.Others...))}
		}
	}
	return nil
}

// whole reports whether all shards were added to the current pass.
func (s *State) whole() bool { return len(s.Have) > 0 && len(s.Have) == max(1, s.Shards) }

// streams returns the streams in the order of the dataset.
func (s *State) streams() []*stream {
	list := make([]*stream, 0, len(s.by))
	for _, own := range s.by {
		list = append(list, own)
	}
	slices.SortFunc(list, func(a, b *stream) int {
		return cmp.Or(a.First-b.First, a.At-b.At, cmp.Compare(a.key(), b.key()))
	})
	return list
}

func (s *State) names() []string {
	var list []string
	for _, own := range s.streams() {
		list = append(list, own.Name)
	}
	return list
}

// Next ends a pass, and reports whether the quantiles need another one. If a shard is missing, the error is [ErrMismatch]. If the
// data differs from the first pass, it is [ErrChanged].
func (s *State) Next() (more bool, err error) {
	switch {
	case s.number < 0:
		return false, nil
	case !s.whole():
		return false, fmt.Errorf("stats: shards %w: got %v, want all %d", ErrMismatch, strings.Trim(fmt.Sprint(s.Have), "[]"), max(1, s.Shards))
	}
	if s.number == 0 {
		if err := s.missing(); err != nil {
			return false, err
		}
	}
	for _, own := range s.by {
		again, err := own.acc.Next()
		if err != nil {
			return false, fmt.Errorf("stats: stream %s: %w", own.Name, err)
		}
		more = more || again
	}
	s.number++
	s.Have = nil
	if !more {
		s.number, s.kept = -1, nil
	}
	return more, nil
}

// Merge adds the state of other shards in the same pass. If the two do not fit each other, the error is [ErrMismatch].
func (s *State) Merge(o *State) error {
	bad := mismatch("states")
	switch {
	case o.Dataset != s.Dataset || o.Format != s.Format || o.Episodes != s.Episodes:
		return bad("dataset", fmt.Sprintf("%s, %s, %d episodes", o.Dataset, o.Format, o.Episodes), fmt.Sprintf("%s, %s, %d episodes", s.Dataset, s.Format, s.Episodes))
	case o.Selection != s.Selection || !slices.Equal(o.Quantiles, s.Quantiles):
		return bad("plan, streams and quantiles", fmt.Sprint(o.Selection, o.Quantiles), fmt.Sprint(s.Selection, s.Quantiles))
	case o.Shards != s.Shards:
		return bad("shards", o.Shards, s.Shards)
	case o.number != s.number || s.number < 0:
		return bad("passes that have ended", o.number, s.number)
	case slices.ContainsFunc(o.Have, func(i int) bool { return slices.Contains(s.Have, i) }):
		return bad("shards", o.Have, fmt.Sprintf("others than %v", s.Have))
	}
	for key, other := range o.by {
		own := s.by[key]
		switch {
		case own != nil:
			if err := own.acc.exact.Merge(other.acc.exact); err != nil {
				return fmt.Errorf("stats: stream %s: %w", own.Name, err)
			}
		case s.number > 0:
			return fmt.Errorf("stats: stream %s: %w", other.Name, ErrChanged)
		default:
			if s.by == nil {
				s.by = map[string]*stream{}
			}
			s.by[key] = other
			continue
		}
		if s.number == 0 {
			own.Binned.merge(&other.Binned)
			own.Episodes += other.Episodes
			own.Rows += other.Rows
			if other.First < own.First {
				own.First, own.At = other.First, other.At
			}
		}
	}
	s.Have = append(s.Have, o.Have...)
	slices.Sort(s.Have)
	if s.number == 0 {
		s.Read, s.Filtered, s.Damaged = s.Read+o.Read, s.Filtered+o.Filtered, s.Damaged+o.Damaged
		for _, name := range o.Others {
			s.passedOver(name)
		}
		s.Skipped = append(s.Skipped, o.Skipped...)
		notes := slices.Concat(s.Notes.List, o.Notes.List)
		slices.SortStableFunc(notes, func(a, b dataset.EpisodeNote) int { return a.Number - b.Number })
		s.Notes = dataset.EpisodeNotes{}
		s.Notes.JoinAll(dataset.EpisodeNotes{List: notes})
		slices.SortFunc(s.Skipped, func(a, b Skipped) int { return a.Episode - b.Episode })
	}
	return nil
}

// keptOf returns the values kept from an episode, or nil if there are none or the first pass is still running.
func (s *State) keptOf(i int) []piece {
	if s.number == 0 { // another goroutine may be adding to s.kept
		return nil
	}
	return s.kept[i]
}

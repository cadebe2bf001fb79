package convert

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// The kinds of accounts.
const (
	streamKind = "stream"
	mediaKind  = "media"
	cloudsKind = "clouds"
)

// StreamAccount counts the samples of a stream, the frames of a media stream or the clouds of a series, by their fate. Its JSON
// names do not change. Two sums hold:
//
//	Read = Used + the sum of Dropped
//	Rows = Valid + OutOfRange + Gapped + NotFinite + Undecoded
type StreamAccount struct {
	Name     string        `json:"name"` // in the output
	Kind     string        `json:"kind"` // "stream", "media" or "clouds"
	Episodes int           `json:"episodes"`
	Read     int           `json:"read"`
	Used     int           `json:"used"`              // samples that the written rows depend on
	Dropped  dataset.Notes `json:"dropped,omitempty"` // the reasons; Count is the number of samples
	Rows     int           `json:"rows"`              // written rows
	Valid    int           `json:"valid"`
	// OutOfRange, Gapped and NotFinite are rows without a valid value, because a plan's clock has ticks there; see
	// align.StreamReport.
	OutOfRange int `json:"out_of_range"`
	Gapped     int `json:"gapped"`
	NotFinite  int `json:"not_finite"`
	// Undecoded counts rows of a camera with a frame that cannot be decoded and is otherwise valid.
	Undecoded int `json:"undecoded,omitempty"`
	// AcrossGaps counts rows inside a gap, a step longer than dataset.Stats.Limit, valid or not.
	AcrossGaps int `json:"across_gaps"`
	// Rounded counts recorded whole numbers that float64 rounds, for example 1<<53+1.
	Rounded int `json:"rounded_integers"`
}

// BalanceError reports an account that does not add up, or differs from the written samples. It is a bug in this program or in a
// reader. The piece, a file or folder of the output, is not written.
type BalanceError struct {
	Episode, Stream, Got, Want string
}

func (e *BalanceError) Error() string {
	return fmt.Sprintf("convert: episode %s: stream %s: the account is not balanced: got %s, want %s", e.Episode, e.Stream, e.Got, e.Want)
}

// drop counts samples that were not used.
func (a *StreamAccount) drop(code dataset.Code, n int) { a.dropNote(dataset.Note{Code: code}, n) }

// dropNote counts samples that a note explains.
func (a *StreamAccount) dropNote(n dataset.Note, count int) {
	if n.Subject, n.Count, n.Row = "", count, 0; count > 0 {
		a.Dropped.Add(n)
	}
}

// dropAll counts all used samples as dropped, because they were not written after all. why is the reason.
func (a *StreamAccount) dropAll(why dataset.Note) {
	n := a.Used
	*a = StreamAccount{Name: a.Name, Kind: a.Kind, Episodes: a.Episodes, Read: a.Read, Dropped: a.Dropped}
	a.dropNote(why, n)
}

func (a *StreamAccount) dropped() (sum int) {
	for _, n := range a.Dropped {
		sum += n.Count
	}
	return sum
}

// check returns a *BalanceError unless the account adds up.
func (a *StreamAccount) check(episode string) error {
	switch {
	case a.Read != a.Used+a.dropped():
		return &BalanceError{episode, a.Name, fmt.Sprintf("%d used and %d dropped", a.Used, a.dropped()), fmt.Sprintf("%d, the samples read", a.Read)}
	case a.Rows != a.Valid+a.OutOfRange+a.Gapped+a.NotFinite+a.Undecoded:
		return &BalanceError{episode, a.Name, fmt.Sprintf("%d valid, %d out of range, %d in gaps, %d not finite and %d not decoded", a.Valid, a.OutOfRange, a.Gapped, a.NotFinite, a.Undecoded),
			fmt.Sprintf("%d, the rows", a.Rows)}
	}
	return nil
}

// add adds an account of the same stream of another episode.
func (a *StreamAccount) add(b *StreamAccount) {
	a.Episodes += b.Episodes
	a.Read += b.Read
	a.Used += b.Used
	a.Dropped.Join(b.Dropped)
	a.Rows += b.Rows
	a.Valid += b.Valid
	a.OutOfRange += b.OutOfRange
	a.Gapped += b.Gapped
	a.NotFinite += b.NotFinite
	a.Undecoded += b.Undecoded
	a.AcrossGaps += b.AcrossGaps
	a.Rounded += b.Rounded
}

// sum adds accounts by name, and keeps their order.
func sum(all, list []StreamAccount) []StreamAccount {
	places := map[[2]string]int{}
	for k := range all {
		places[[2]string{all[k].Name, string(all[k].Kind)}] = k
	}
	for i := range list {
		b := &list[i]
		id := [2]string{b.Name, string(b.Kind)}
		k, ok := places[id]
		if !ok {
			k = len(all)
			places[id] = k
			all = append(all, StreamAccount{Name: b.Name, Kind: b.Kind})
		}
		all[k].add(b)
	}
	return all
}

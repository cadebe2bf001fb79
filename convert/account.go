package convert

import (
	"fmt"
	"maps"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// StreamAccount says what became of the samples of a stream, the frames of a media stream or the clouds of a series. Its JSON names are a contract.
//
//	Read = Used + the sum of Dropped
//	Rows = Valid + OutOfRange + Gapped + NotFinite
type StreamAccount struct {
	Name     string        `json:"name"` // in the output
	Kind     string        `json:"kind"` // "stream", "media" or "clouds"
	Episodes int           `json:"episodes"`
	Read     int           `json:"read"`
	Used     int           `json:"used"`              // whatever was written came of them
	Dropped  dataset.Notes `json:"dropped,omitempty"` // why; Count is the samples
	Rows     int           `json:"rows"`              // that were written
	Valid    int           `json:"valid"`
	// OutOfRange, Gapped and NotFinite are as in align.StreamReport: rows that a plan made where there is nothing to trust.
	OutOfRange int `json:"out_of_range"`
	Gapped     int `json:"gapped"`
	NotFinite  int `json:"not_finite"`
	// AcrossGaps are the rows that were made between two samples further apart than dataset.GapFactor medians, be they valid or not.
	AcrossGaps int `json:"across_gaps"`
	// Rounded are the whole numbers that were recorded of those columns and that float64 does not hold: what was written of them was rounded.
	Rounded int `json:"rounded_integers"`
}

// BalanceError says that an account does not add up, or that what was written is not what the account has. It is a defect of this program or of a
// reader, and nothing was given its name.
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

// dropAll counts all that was used as dropped: it was not written.
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
	case a.Rows != a.Valid+a.OutOfRange+a.Gapped+a.NotFinite:
		return &BalanceError{episode, a.Name, fmt.Sprintf("%d valid, %d out of range, %d in gaps and %d not finite", a.Valid, a.OutOfRange, a.Gapped, a.NotFinite),
			fmt.Sprintf("%d, the rows", a.Rows)}
	}
	return nil
}

// besides returns the notes that no account of a stream has among what was dropped.
func (k *Kept) besides(accounts []StreamAccount) (list dataset.Notes) {
	for _, n := range k.Notes {
		if n.Code.Class() != dataset.ClassLeftOut || !slices.ContainsFunc(accounts, func(a StreamAccount) bool { return a.Name == n.Subject }) {
			list = append(list, n)
		}
	}
	return list
}

// settle compares accounts with what was written of an episode, and checks that they add up.
func settle(episode string, list []StreamAccount, kept *Kept) error {
	seen := 0
	for i := range list {
		a := &list[i]
		n, written := kept.Samples[a.Name]
		left := kept.Notes.LeftOut(a.Name)
		switch {
		case written:
			seen++
			if n != a.Rows {
				return &BalanceError{episode, a.Name, fmt.Sprintf("%d rows written", n), fmt.Sprint(a.Rows)}
			}
		case left != nil:
			a.dropAll(*left)
		case a.Rows > 0:
			return &BalanceError{episode, a.Name, "nothing written, and no reason given", fmt.Sprintf("%d rows", a.Rows)}
		}
		if err := a.check(episode); err != nil {
			return err
		}
	}
	if seen != len(kept.Samples) {
		return &BalanceError{episode, fmt.Sprint(slices.Sorted(maps.Keys(kept.Samples))), "written", "those of the account"}
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
	a.AcrossGaps += b.AcrossGaps
	a.Rounded += b.Rounded
}

// sum adds accounts to those of the same names, which stay in the order in which they came.
func sum(all, list []StreamAccount) []StreamAccount {
	for i := range list {
		b := &list[i]
		k := slices.IndexFunc(all, func(a StreamAccount) bool { return a.Name == b.Name && a.Kind == b.Kind })
		if k < 0 {
			k = len(all)
			all = append(all, StreamAccount{Name: b.Name, Kind: b.Kind})
		}
		all[k].add(b)
	}
	return all
}

// Total returns the accounts of several shards together, streams of the same name as one.
func Total(shards []*Report) (all []StreamAccount) {
	for _, r := range shards {
		all = sum(all, r.Streams)
	}
	return all
}

// Loss is what readers knew and could not give: content of no stream, what was broken, and what the recorder itself lost.
type Loss struct {
	What     string        `json:"what"`
	Reason   string        `json:"reason,omitempty"`
	Note     *dataset.Note `json:"note,omitempty"` // why, of what a reader left out
	Episodes int           `json:"episodes"`
	Count    int           `json:"count"`
	Bytes    int64         `json:"bytes,omitempty"`
}

// losses lists those of an episode.
func losses(e *dataset.Episode) (list []Loss) {
	for _, n := range e.Notes.Of(dataset.ClassLeftOut) {
		list = append(list, Loss{What: n.Subject, Note: &n, Episodes: 1, Count: n.Count})
	}
	for _, d := range e.Notes.Damage() {
		list = append(list, Loss{What: string(d.Code), Reason: "damage", Episodes: 1, Count: d.Count, Bytes: d.Bytes})
	}
	if n := len(e.Dropouts); n > 0 {
		list = append(list, Loss{What: "dropouts", Reason: "lost by the recorder", Episodes: 1, Count: n})
	}
	return list
}

// alike reports whether two notes, which may be nil, have the same code and numbers.
func alike(a, b *dataset.Note) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Code == b.Code && a.Got == b.Got
}

// join adds losses to those of the same kind.
func join(all, list []Loss) []Loss {
	for _, l := range list {
		k := slices.IndexFunc(all, func(a Loss) bool { return a.What == l.What && a.Reason == l.Reason && alike(a.Note, l.Note) })
		if k < 0 && len(all) >= most {
			l.What, l.Reason, l.Note = others, "", nil
			k = slices.IndexFunc(all, func(a Loss) bool { return a.What == others })
		}
		if k < 0 {
			all = append(all, l)
			continue
		}
		all[k].Episodes += l.Episodes
		all[k].Count += l.Count
		all[k].Bytes += l.Bytes
	}
	return all
}

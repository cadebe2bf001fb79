package convert

import (
	"context"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
)

// Target is a format that episodes are converted to. Its methods may be called from any goroutine.
type Target interface {
	// Name is what --to calls it: "npz".
	Name() string
	// Traits say how its outputs are made.
	Traits() Traits
	// Settings are the options that it was made with, for JSON: pieces that were made with others are refused.
	Settings() any
	// Create begins a piece at a path that there may be something at already, left by a conversion that was killed: Commit replaces that. The folder
	// that it lies in exists.
	Create(ctx context.Context, path string, p Piece) (Writer, error)
}

// Traits say how the outputs of a target are made.
type Traits struct {
	// Rows says that all streams and media of an episode must have one clock: a recording whose streams have clocks of their own needs a rate or a plan.
	Rows bool
	// Whole says that a piece is all episodes of a shard; else it is one episode, and pieces are made at the same time.
	Whole bool
	// Unmasked says that the format has no place for which rows are valid. Those at both ends of a plan's clock are left out then in which not every
	// stream is, and others are counted.
	Unmasked bool
	// Integers says that Stream.Integers are written where there are some, so that nothing of these is rounded.
	Integers bool
	// Ext is what the name of a piece ends in, ".npz"; empty for a folder. Where Whole is set and Ext is empty, the output of a conversion in one
	// shard is the piece itself.
	Ext string
}

// Piece is what is begun: which part of the output, and of what.
type Piece struct {
	Shard, Shards int            // from 0, of how many
	Episodes      int            // that will be added, but for those that cannot be read
	Rate          float64        // Hz of the plan; 0 without one
	Inputs        []dataset.Info // what the inputs say of themselves

	inputs []input
}

// Writer writes a piece. Its methods are for one goroutine at a time.
type Writer interface {
	// Add writes an episode; they come in the order of their numbers. One that the format cannot take is a *RefusedError, which costs that episode
	// alone, with nothing of it written. Episodes before it that it shows to be broken are a *SpoiledError: a piece of several is made again without
	// them. Any other error ends the piece.
	Add(ctx context.Context, e *Episode) (Kept, error)
	// Commit completes the piece, reads it back and gives it its name. After an error there is under the name what was there before.
	Commit(ctx context.Context) error
	// Close gives up what Commit has not named, and removes it. Close twice is fine.
	Close() error
}

// Kept is what a Writer has written of an episode.
type Kept struct {
	// Samples are the rows that were written of each stream, and the frames of each media stream or clouds of each series, by their names in the
	// episode. What is not in it must be in Notes.
	Samples map[string]int
	// Notes are about content that the format has no place for (ClassLeftOut), by name, with its samples, and about data that was not written as it was
	// recorded.
	Notes dataset.Notes
}

// Episode is an episode as a Target gets it.
type Episode struct {
	// Episode is what is to be written. By a plan its streams are Aligned's, its media the frames that the clock's ticks take (see Picked), and all
	// have the clock's times; else they are as they were recorded.
	*dataset.Episode
	Number   int      // counted over all inputs from 0, those included that cannot be read: it never depends on what could be read
	Input    int      // of Piece.Inputs, which it comes from
	Index    int      // that dataset's own number
	Splits   []string // of that dataset's, which it is in
	Recorded *dataset.Episode
	// Rate is how many rows a second there are, Hz, and Times [T] are theirs, ns, where all streams and media have one clock; else 0 and nil. Times
	// are the recording's own: they may begin at any time, and without a plan have any jitter.
	Rate  float64
	Times []int64
	// Aligned has of each stream, in the order of Streams, what is valid and how old, too; nil where streams are as they were recorded.
	Aligned *align.Resampled

	renamed map[string]string // by the names that a plan gives streams and media, what they are called in the recording; those that keep theirs are not in it
	// Lost says why streams and cameras are not among Streams and Media that the recording could have had, by their names, and by the empty name what was
	// lost where it is damaged. It is never nil.
	Lost map[string]dataset.Note
}

// close ends what the episode's media hold.
func (e *Episode) close() {
	for i := range e.Media {
		if p, ok := e.Media[i].Source.(*Picked); ok {
			p.close()
		}
	}
}

// giveUp leaves out what was to be written.
func (k *Kept) giveUp(name string, why dataset.Note) {
	n := k.Samples[name]
	delete(k.Samples, name)
	k.leave(name, n, why)
}

// leave notes what a format has no place for.
func (k *Kept) leave(name string, n int, why dataset.Note) {
	why.Subject, why.Count = name, n
	k.Notes = append(k.Notes, why)
}

// noPlace is about content that a format has no place for.
func noPlace(what, format string) dataset.Note {
	return dataset.Note{Code: dataset.CodeNoPlace, Detail: dataset.Detail{Got: what, Want: format}}
}

package convert

import (
	"context"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
)

// Target is a format that episodes are converted to. Its methods may be called from any goroutine.
type Target interface {
	// Name is the value of --to, for example "npz".
	Name() string
	// Traits are the properties of its outputs.
	Traits() Traits
	// Settings are the options that it was made with, for JSON: pieces that were made with others are refused.
	Settings() any
	// Create begins a piece at a path that there may be something at already, left by a conversion that was killed: Commit replaces that.
	// The folder that it lies in exists.
	Create(ctx context.Context, path string, p Piece) (Writer, error)
}

// Traits are the properties of a target's outputs.
type Traits struct {
	// Rows requires one clock for all streams and media of an episode. A recording with several clocks needs a rate or a plan.
	Rows bool
	// Whole makes one piece of all episodes of a shard; else each episode is a piece, and pieces are made at the same time.
	Whole bool
	// Unmasked is set if the format has no place for the validity of rows. Rows at both ends of a plan's clock are left out then if not
	// every stream is valid there, and others are counted.
	Unmasked bool
	// Integers is set if the format writes Stream.Integers, so that whole numbers are not rounded.
	Integers bool
	// Lists is set if the format writes Episode.Lists.
	Lists bool
	// Ext is the ending of a piece's name, for example ".npz"; empty for a folder. If Whole is set and Ext is empty, the output of a
	// conversion in one shard is the piece itself.
	Ext string
}

// Piece is a new part of the output, and its inputs.
type Piece struct {
	Shard, Shards int            // from 0, of how many
	Episodes      int            // that will be added, unless they cannot be read
	Rate          float64        // Hz of the plan; 0 without one
	Inputs        []dataset.Info // of the inputs

	inputs []input
}

// Writer writes a piece. Its methods are for one goroutine at a time.
type Writer interface {
	// Add writes an episode; they come in the order of their numbers. One that the format cannot take is a *RefusedError, which costs that
	// episode alone, with nothing of it written. Episodes before it that it shows to be broken are a *SpoiledError: a piece of several is
	// made again without them. Any other error ends the piece.
	Add(ctx context.Context, e *Episode) (Kept, error)
	// Commit completes the piece, reads it back and gives it its name. After an error the earlier file or folder keeps the name.
	Commit(ctx context.Context) error
	// Close removes a piece without a commit. Close twice is fine.
	Close() error
}

// Kept counts the written samples of an episode.
type Kept struct {
	// Samples are the rows that were written of each stream, and the frames of each media stream or clouds of each series, by their names
	// in the episode. What is not in it must be in Notes.
	Samples map[string]int
	// Notes are about content that the format has no place for (ClassLeftOut), by name, with its samples, and about data that was not
	// written as it was recorded.
	Notes dataset.Notes
	// Undecoded has, by media stream, the rows with frames that cannot be decoded. Each shows the frame before it, or the first good one.
	Undecoded map[string][]int
}

// Episode is an episode as a Target gets it.
type Episode struct {
	// Episode is the content to write. With a plan its streams are Aligned's, its media are the frames at the clock's ticks (see Picked),
	// and all have the clock's times; else they are as recorded.
	*dataset.Episode
	Number   int      // counted over all inputs from 0, unreadable episodes included
	Input    int      // of Piece.Inputs, which it comes from
	Index    int      // that dataset's own number
	Splits   []string // of that dataset's, which it is in
	Recorded *dataset.Episode
	// Rate is how many rows a second there are, Hz, and Times [T] are theirs, ns, where all streams and media have one clock; else 0 and
	// nil. Times are the recording's own: they may begin at any time, and without a plan have any jitter.
	Rate  float64
	Times []int64
	// Aligned also has the validity and age of each stream's values, in the order of Streams; nil if streams are as recorded.
	Aligned *align.Resampled

	renamed map[string]string // recorded names of streams and media, by the names that a plan gives them; without those that keep theirs
	// Lost has the reasons why streams and cameras of the recording are missing in Streams and Media, by their names. The empty name has
	// the losses of a damaged recording. It is never nil.
	Lost map[string]dataset.Note
}

// close releases the decoders of the episode's media.
func (e *Episode) close() {
	for i := range e.Media {
		if p, ok := e.Media[i].Source.(*Picked); ok {
			p.close()
		}
	}
}

// giveUp leaves out a stream that was counted as written.
func (k *Kept) giveUp(name string, why dataset.Note) {
	n := k.Samples[name]
	delete(k.Samples, name)
	k.leave(name, n, why)
}

// leave notes content that a format has no place for.
func (k *Kept) leave(name string, n int, why dataset.Note) {
	why.Subject, why.Count = name, n
	k.Notes = append(k.Notes, why)
}

// noPlace is about content that a format has no place for.
func noPlace(what, format string) dataset.Note {
	return dataset.Note{Code: dataset.CodeNoPlace, Detail: dataset.Detail{Got: what, Want: format}}
}

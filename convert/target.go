package convert

import (
	"context"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
)

// Target is an output format. Its methods may be called from any goroutine.
type Target interface {
	// Name is the format's name for --to, for example "npz".
	Name() string
	// Traits describe the format's outputs.
	Traits() Traits
	// Settings returns the target's options as a value for JSON. Pieces that were made with other settings are refused.
	Settings() any
	// Create begins a piece at path. If a killed conversion left something there, Commit replaces it. The parent folder exists.
	Create(ctx context.Context, path string, p Piece) (Writer, error)
}

// Traits describe a target's outputs.
type Traits struct {
	// Rows requires one clock for all streams and media in an episode. A recording with several clocks needs a rate or a plan.
	Rows bool
	// Whole makes one piece from all episodes in a shard. Otherwise each episode is a piece, and several pieces are made at the
	// same time.
	Whole bool
	// Unmasked is set if the format cannot mark rows as not valid. Then rows at both ends of a plan's clock where some stream is
	// not valid are left out, and other such rows are counted.
	Unmasked bool
	// Integers is set if the format writes Stream.Integers, so whole numbers are not rounded.
	Integers bool
	// Lists is set if the format writes Episode.Lists.
	Lists bool
	// Ext is the extension of a piece, for example ".npz"; empty for a folder. If Whole is set and Ext is empty, the output of a
	// conversion with one shard is the piece itself.
	Ext string
}

// Piece describes a new part of the output and its inputs.
type Piece struct {
	Shard, Shards int            // shard number from 0, and the number of shards
	Episodes      int            // number of episodes that will be added, unless they cannot be read
	Rate          float64        // the plan's rate, Hz; 0 without a plan
	Inputs        []dataset.Info // one Info per input
	// Dry is set if the piece is never completed, because only the errors and notes of Add are wanted: see Conversion.Check. A Writer
	// may leave out frames then.
	Dry bool

	inputs []input
}

// Writer writes a piece. Its methods are for one goroutine at a time.
type Writer interface {
	// Add writes an episode; episodes come in the order of their numbers. If the format cannot hold it, the error is a
	// *RefusedError, nothing is written, and only this episode is lost. If it reveals that earlier episodes are incomplete, the
	// error is a *SpoiledError, and a piece with several episodes is made again without them. Any other error ends the piece.
	Add(ctx context.Context, e *Episode) (Kept, error)
	// Commit completes the piece, reads it back and moves it to its path. After an error the earlier file or folder stays there.
	Commit(ctx context.Context) error
	// Close removes the piece if Commit was not called. Close twice is fine.
	Close() error
}

// Kept counts the written samples of an episode.
type Kept struct {
	// Samples are the number of written rows for each stream, frames for each media stream and clouds for each series, by their
	// names in the episode. Missing ones must be in Notes.
	Samples map[string]int
	// Notes are about content that the format cannot hold (ClassLeftOut), by name and with its samples, and about data that was
	// changed.
	Notes dataset.Notes
	// Undecoded has, by media stream, the rows with frames that cannot be decoded. Each shows the frame before it, or else the
	// first good frame.
	Undecoded map[string][]int
}

// Episode is an episode in the form that a Target gets.
type Episode struct {
	// Episode is the content to write. With a plan, its streams are those in Aligned, its media show the frames at the clock's
	// ticks (see Picked), and all have the clock's times. Otherwise they are as recorded.
	*dataset.Episode
	Number   int      // counted over all inputs from 0, unreadable episodes included
	Input    int      // the index in Piece.Inputs of its dataset
	Index    int      // its number in that dataset
	Splits   []string // the splits in that dataset that contain it
	Recorded *dataset.Episode
	// Rate is the number of rows a second, Hz, and Times [T] are the row times, ns, if all streams and media have one clock;
	// otherwise 0 and nil. Times are the recording's own: they may begin at any time, and without a plan may have jitter.
	Rate  float64
	Times []int64
	// Aligned also has the validity and age of each value, in the order of Streams; nil without a plan.
	Aligned *align.Resampled

	renamed map[string]string // recorded names of streams and media by their names in the plan; without names that did not change
	// Lost has the reasons why recorded streams and cameras are missing from Streams and Media, by their names. The empty name has
	// the losses in a damaged recording. Lost is never nil.
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

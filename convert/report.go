package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/sources"
)

// version is the version number in reports and journals.
const version = 3

// Report lists the inputs of a shard and counts every sample that was read. It is written next to the pieces when the shard is
// finished. It depends on the inputs and the options only. Its JSON names do not change.
type Report struct {
	Head
	Inputs []InputReport `json:"inputs"`
	// Read, Converted, Skipped and Filtered count episodes: all in the shard, written, not readable or writable, and rejected by
	// the plan's filter. Read is the sum of the other three.
	Read      int `json:"episodes_read"`
	Converted int `json:"episodes_converted"`
	Skipped   int `json:"episodes_skipped"`
	Filtered  int `json:"episodes_filtered"`
	Rows      int `json:"rows"` // rows on the episodes' common clocks
	// LeftOut counts rows at the ends of the clocks that were left out because some stream is not valid there. NotValid counts such
	// rows inside Rows, if the format cannot mark them.
	LeftOut  int             `json:"rows_left_out"`
	NotValid int             `json:"rows_not_valid"`
	Streams  []StreamAccount `json:"streams"`
	// Losses are notes about content that readers could not return: left out, broken, or lost by the recorder. Notes are choices
	// and changes.
	Losses dataset.EpisodeNotes `json:"losses"`
	Notes  dataset.EpisodeNotes `json:"notes"`
	Pieces []PieceReport        `json:"pieces"`

	// Before is the number of pieces that were already complete. It is not written to the file.
	Before int `json:"-"`
}

// Head is the request for a conversion. Shards belong together if their heads differ only in Shard.
type Head struct {
	Schema   schema.Schema   `json:"schema"`
	Version  int             `json:"version"`
	Target   string          `json:"target"`
	Settings json.RawMessage `json:"settings"` // the target's options
	Strict   bool            `json:"strict,omitempty"`
	Rate     float64         `json:"rate,omitempty"`  // rate for recordings without times
	Clock    string          `json:"clock,omitempty"` // clock to read, if recordings have several
	Stretch  int             `json:"stretch,omitempty"`
	TaskFrom string          `json:"task_from,omitempty"`
	Media    []string        `json:"media,omitempty"`
	// Definitions are the folders and files with message definitions, as given.
	Definitions []string `json:"definitions,omitempty"`
	KeepInvalid bool     `json:"keep_invalid,omitempty"`
	Task        string   `json:"task,omitempty"` // for episodes without a task
	// Plan is the part of the plan that affects the output, in the form of a plan file: planfile.Parse reads it.
	Plan     json.RawMessage `json:"plan,omitempty"`
	Shard    int             `json:"shard"` // from 0
	Shards   int             `json:"shards"`
	Episodes int             `json:"episodes"` // in the inputs, over all shards
	// Selected are the numbers of the episodes that Options.Reading selects in their input, as dataset.Ranges has them; empty for all.
	Selected string `json:"selected,omitempty"`
	Listing  string `json:"listing"` // SHA-256 over the names and sizes of all input files
}

// InputReport describes an input.
type InputReport struct {
	Path     string         `json:"path"`
	Format   string         `json:"format"`
	Episodes int            `json:"episodes"`
	Files    int            `json:"files"`
	Notes    dataset.Notes  `json:"notes,omitempty"` // about declared episodes that are missing
	Hashed   []sources.File `json:"hashed"`          // files that this shard hashed; each file is hashed by one shard
	// Modified is a SHA-256 over the modification times of the other files, if there are several shards.
	Modified string `json:"modified,omitempty"`
}

// PieceReport describes a file or folder in the output.
type PieceReport struct {
	Path     string          `json:"path"` // relative to the output, with slashes; empty for the output itself, and if it has no episode
	Bytes    int64           `json:"bytes"`
	SHA256   string          `json:"sha256"` // of the file; for a folder, over its file names, sizes and hashes
	Episodes []EpisodeReport `json:"episodes"`
}

// EpisodeReport describes an episode.
type EpisodeReport struct {
	Number   int           `json:"number"` // counted over all inputs
	Input    int           `json:"input"`
	Index    int           `json:"index"` // number in the input
	Name     string        `json:"name"`
	Task     string        `json:"task,omitempty"`
	Success  *bool         `json:"success,omitempty"`
	Rows     int           `json:"rows"`
	LeftOut  int           `json:"rows_left_out,omitempty"`  // as in Report
	NotValid int           `json:"rows_not_valid,omitempty"` // as in Report
	Skipped  *dataset.Note `json:"skipped,omitempty"`        // the reason why it was not converted; nil if it was
	// Filtered is the field in the plan's filter that rejects the episode.
	Filtered dataset.FilterField `json:"filtered,omitempty"`
}

// entry is a piece that is done, with its part of the report: a line of the journal.
type entry struct {
	Piece   int                  `json:"piece"`
	Report  PieceReport          `json:"report"`
	Streams []StreamAccount      `json:"streams"`
	Losses  dataset.EpisodeNotes `json:"losses"`
	Notes   dataset.EpisodeNotes `json:"notes"`
}

// converted reports whether there is an episode in the piece.
func (r *PieceReport) converted() bool {
	return slices.ContainsFunc(r.Episodes, func(e EpisodeReport) bool { return e.Skipped == nil && e.Filtered == "" })
}

// add adds a piece to the report; pieces come in their order.
func (r *Report) add(n *entry) {
	r.Pieces = append(r.Pieces, n.Report)
	for _, e := range n.Report.Episodes {
		switch r.Read++; {
		case e.Skipped != nil:
			r.Skipped++
		case e.Filtered != "":
			r.Filtered++
		default:
			r.Converted++
			r.Rows += e.Rows
			r.LeftOut += e.LeftOut
			r.NotValid += e.NotValid
		}
	}
	r.Streams = sum(r.Streams, n.Streams)
	r.Losses.JoinAll(n.Losses)
	r.Notes.JoinAll(n.Notes)
}

// check returns a *BalanceError unless the report adds up over all episodes.
func (r *Report) check(episodes int) error {
	if r.Read != episodes {
		return &BalanceError{"(all)", "(all)", fmt.Sprintf("%d episodes", r.Read), fmt.Sprint(episodes)}
	}
	for i := range r.Streams {
		if err := r.Streams[i].check("(all)"); err != nil {
			return err
		}
	}
	return nil
}

// NothingError reports a conversion without a converted episode.
type NothingError struct {
	Episodes int
	First    *dataset.Note // why the first was not converted
	Filtered bool          // no episode was skipped: the plan's filter rejects all
}

func (e *NothingError) Error() string {
	if e.Filtered {
		return fmt.Sprintf("convert: the plan's filter leaves out all %d episodes", e.Episodes)
	}
	return fmt.Sprintf("convert: no episode among %d could be converted: %s", e.Episodes, e.First.Reason())
}

// ErrorNotes returns the note.
func (e *NothingError) ErrorNotes() (list dataset.Notes) {
	if e.First != nil {
		list = dataset.Notes{*e.First}
	}
	return list
}

// nothing returns a *NothingError if no episode was written.
func (r *Report) nothing() error {
	if r.Converted > 0 || r.Read == 0 {
		return nil
	}
	for _, p := range r.Pieces {
		for _, e := range p.Episodes {
			if e.Skipped != nil {
				return &NothingError{r.Read, e.Skipped, false}
			}
		}
	}
	return &NothingError{r.Read, nil, true}
}

// SkippedInput is an input with skipped episodes.
type SkippedInput struct {
	Input    string        `json:"input"`    // the input's path
	Episodes int           `json:"episodes"` // number of its episodes in these shards
	Skipped  int           `json:"skipped"`
	First    *dataset.Note `json:"first"` // why the first was skipped
	Whole    bool          `json:"whole"` // all its episodes that the plan accepts were skipped
}

// SkippedInputs returns the inputs with skipped episodes, in input order.
func SkippedInputs(shards []*Report) []SkippedInput {
	list := []SkippedInput{}
	for k := 0; len(shards) > 0 && k < len(shards[0].Inputs); k++ {
		s := SkippedInput{Input: shards[0].Inputs[k].Path}
		filtered := 0
		for _, r := range shards {
			for _, p := range r.Pieces {
				for i := range p.Episodes {
					e := &p.Episodes[i]
					if e.Input != k {
						continue
					}
					s.Episodes++
					if e.Filtered != "" {
						filtered++
					}
					if e.Skipped != nil {
						s.Skipped++
						s.First = cmp.Or(s.First, e.Skipped)
					}
				}
			}
		}
		s.Whole = s.Skipped+filtered == shards[0].Inputs[k].Episodes
		if s.Skipped > 0 {
			list = append(list, s)
		}
	}
	return list
}

// Total adds up the accounts of several shards, by stream name.
func Total(shards []*Report) (all []StreamAccount) {
	for _, r := range shards {
		all = sum(all, r.Streams)
	}
	return all
}

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

// version is that of reports and journals.
const version = 3

// Report lists the inputs of a shard and counts every sample that was read. It is written next to the pieces when the shard is done. It
// depends on the inputs and the options only. Its JSON names are a contract.
type Report struct {
	Head
	Inputs []InputReport `json:"inputs"`
	// Read, Converted, Skipped and Filtered count the episodes: all of the shard, written, not readable or writable, and rejected by the
	// plan's filter. Read is the sum of the others.
	Read      int `json:"episodes_read"`
	Converted int `json:"episodes_converted"`
	Skipped   int `json:"episodes_skipped"`
	Filtered  int `json:"episodes_filtered"`
	Rows      int `json:"rows"` // of the episodes' common clocks
	// LeftOut counts rows at the ends of the clocks that were left out because not every stream is valid there. NotValid counts such rows
	// among Rows, if the format has no place for validity.
	LeftOut  int             `json:"rows_left_out"`
	NotValid int             `json:"rows_not_valid"`
	Streams  []StreamAccount `json:"streams"`
	// Losses are notes about content that readers did not return: left out, broken, or lost by the recorder. Notes are choices and changes.
	Losses dataset.EpisodeNotes `json:"losses"`
	Notes  dataset.EpisodeNotes `json:"notes"`
	Pieces []PieceReport        `json:"pieces"`

	// Before is how many pieces were there already, whole. It is not written.
	Before int `json:"-"`
}

// Head is the request of a conversion. Shards belong together if their heads differ in Shard only.
type Head struct {
	Schema   schema.Schema   `json:"schema"`
	Version  int             `json:"version"`
	Target   string          `json:"target"`
	Settings json.RawMessage `json:"settings"` // the target's
	Strict   bool            `json:"strict,omitempty"`
	Rate     float64         `json:"rate,omitempty"`  // of recordings without times
	Clock    string          `json:"clock,omitempty"` // of those that recordings have
	Stretch  int             `json:"stretch,omitempty"`
	TaskFrom string          `json:"task_from,omitempty"`
	Media    []string        `json:"media,omitempty"`
	// Definitions are folders and files of message definitions, as they were given.
	Definitions []string `json:"definitions,omitempty"`
	KeepInvalid bool     `json:"keep_invalid,omitempty"`
	// Plan is the part of the plan that affects the output, as in a plan file: planfile.Parse reads it.
	Plan     json.RawMessage `json:"plan,omitempty"`
	Shard    int             `json:"shard"` // from 0
	Shards   int             `json:"shards"`
	Episodes int             `json:"episodes"` // of the inputs, in all shards
	Listing  string          `json:"listing"`  // SHA-256 of the names and sizes of all files of the inputs
}

// InputReport is an input.
type InputReport struct {
	Path     string         `json:"path"`
	Format   string         `json:"format"`
	Episodes int            `json:"episodes"`
	Files    int            `json:"files"`
	Notes    dataset.Notes  `json:"notes,omitempty"` // about declared episodes that are not there
	Hashed   []sources.File `json:"hashed"`          // those files that this shard hashed: each file is hashed by one
	// Modified is, of one of several shards, a SHA-256 of when the other files were written last.
	Modified string `json:"modified,omitempty"`
}

// PieceReport is a file or folder of the output.
type PieceReport struct {
	Path     string          `json:"path"` // below the output, with slashes; empty for the output itself, and where no episode is in it
	Bytes    int64           `json:"bytes"`
	SHA256   string          `json:"sha256"` // of the file; of a folder, of its files' names, sizes and hashes
	Episodes []EpisodeReport `json:"episodes"`
}

// EpisodeReport is an episode.
type EpisodeReport struct {
	Number   int           `json:"number"` // counted over all inputs
	Input    int           `json:"input"`
	Index    int           `json:"index"` // the input's own number
	Name     string        `json:"name"`
	Task     string        `json:"task,omitempty"`
	Success  *bool         `json:"success,omitempty"`
	Rows     int           `json:"rows"`
	LeftOut  int           `json:"rows_left_out,omitempty"`  // as in Report
	NotValid int           `json:"rows_not_valid,omitempty"` // as in Report
	Skipped  *dataset.Note `json:"skipped,omitempty"`        // why it was not converted; nil if it was
	// Filtered is the field of the plan's filter that it does not pass.
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

// NothingError is a conversion without a converted episode.
type NothingError struct {
	Episodes int
	First    *dataset.Note // why the first was not
	Filtered bool          // none was skipped: the plan's filter wants none
}

func (e *NothingError) Error() string {
	if e.Filtered {
		return fmt.Sprintf("convert: the plan's filter wants none of %d episodes", e.Episodes)
	}
	return fmt.Sprintf("convert: no episode could be converted, of %d: %s", e.Episodes, e.First.Reason())
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
	Input    string        `json:"input"`    // its path
	Episodes int           `json:"episodes"` // that it has in these shards
	Skipped  int           `json:"skipped"`
	First    *dataset.Note `json:"first"` // why the first was
	Whole    bool          `json:"whole"` // all that it has, and that the plan wants, were
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

// Total returns the accounts of several shards together, streams of the same name as one.
func Total(shards []*Report) (all []StreamAccount) {
	for _, r := range shards {
		all = sum(all, r.Streams)
	}
	return all
}

package main

import (
	"cmp"
	"slices"

	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
)

// convertedJSON is the JSON of convert: convert.json has notes where this has their sentences.
type convertedJSON struct {
	*converted
	Shards  []shardJSON        `json:"shards"`
	Skipped []skippedInputJSON `json:"skipped"`
}

type shardJSON struct {
	*convert.Report
	Streams []accountJSON `json:"streams"`
	Losses  []lossJSON    `json:"losses"`
	Pieces  []pieceJSON   `json:"pieces"`
}

type accountJSON struct {
	*convert.StreamAccount
	Dropped map[string]int `json:"dropped"` // by the reason
}

type lossJSON struct {
	*convert.Loss
	Reason string        `json:"reason,omitempty"`
	Note   *dataset.Note `json:"note,omitempty"` // not written
}

type pieceJSON struct {
	*convert.PieceReport
	Episodes []episodeJSON `json:"episodes"`
}

type episodeJSON struct {
	*convert.EpisodeReport
	Skipped string `json:"skipped,omitempty"`
}

type skippedInputJSON struct {
	*convert.SkippedInput
	First string `json:"first"`
}

func shardsJSON(reports []*convert.Report) []shardJSON {
	list := []shardJSON{}
	for _, r := range reports {
		s := shardJSON{Report: r, Streams: []accountJSON{}, Losses: []lossJSON{}, Pieces: []pieceJSON{}}
		for i := range r.Streams {
			a := accountJSON{&r.Streams[i], map[string]int{}}
			for _, d := range byReason(a.StreamAccount.Dropped) {
				a.Dropped[d.reason] = d.count
			}
			s.Streams = append(s.Streams, a)
		}
		for i := range r.Losses {
			l := lossJSON{Loss: &r.Losses[i], Reason: r.Losses[i].Reason}
			if n := l.Loss.Note; n != nil {
				l.Reason = notetext.Text(*n)
			}
			s.Losses = append(s.Losses, l)
		}
		for i := range r.Pieces {
			p := pieceJSON{&r.Pieces[i], []episodeJSON{}}
			for k := range r.Pieces[i].Episodes {
				p.Episodes = append(p.Episodes, episodeJSON{&r.Pieces[i].Episodes[k], sentence(r.Pieces[i].Episodes[k].Skipped)})
			}
			s.Pieces = append(s.Pieces, p)
		}
		list = append(list, s)
	}
	return list
}

func skippedJSON(inputs []convert.SkippedInput) []skippedInputJSON {
	list := []skippedInputJSON{}
	for i := range inputs {
		list = append(list, skippedInputJSON{&inputs[i], sentence(inputs[i].First)})
	}
	return list
}

// sentence returns the text of a note, or "" of nil.
func sentence(n *dataset.Note) string {
	if n == nil {
		return ""
	}
	return notetext.Text(*n)
}

// dropped is how many samples were dropped for a reason.
type dropped struct {
	reason string
	count  int
}

// byReason returns the notes about dropped samples as sentences, in the order of these.
func byReason(notes dataset.Notes) []dropped {
	var list []dropped
	for _, n := range notes {
		list = append(list, dropped{notetext.Text(n), n.Count})
	}
	slices.SortFunc(list, func(a, b dropped) int { return cmp.Compare(a.reason, b.reason) })
	return list
}

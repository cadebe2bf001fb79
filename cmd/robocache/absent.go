package main

import (
	"errors"

	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
)

// absentInput is an input that lacks declared episodes.
type absentInput struct {
	Input string `json:"input"`
	convert.Absent
}

// absentInputs returns the inputs in the notes. The list is empty, not nil, if there are none.
func absentInputs(notes dataset.Notes) []absentInput {
	list := []absentInput{}
	for i := range notes {
		list = append(list, absentInput{notes[i].Subject, *convert.AbsentOf(&notes[i])})
	}
	return list
}

// absentIn returns a list with the note about missing episodes in a dataset. The list is empty if all episodes are there.
func absentIn(path string, d dataset.Dataset) []absentInput {
	info := d.Info()
	if a := convert.AbsentOf(info.Absent()); a != nil {
		return []absentInput{{path, *a}}
	}
	return []absentInput{}
}

// String returns the line for the input: "dataset/: 11 of 25 declared episodes are not there: ...".
func (a absentInput) String() string {
	return notetext.Line(dataset.Note{Code: dataset.CodeEpisodesAbsent, Subject: a.Input, Count: a.Episodes, Detail: dataset.Detail{Of: a.Declared, Cause: errors.New(a.Why)}})
}

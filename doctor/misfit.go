package doctor

import "github.com/robocache/robocache/dataset"

// misfitAdvice has the remedies for reasons why a dataset does not fit a reader. Other reasons have the remedy of the kind.
var misfitAdvice = map[dataset.Code]string{
	dataset.CodeSeveralClocks:  "Convert it with --hz F or --plan FILE, which puts all streams on one clock.",
	dataset.CodeNoRate:         "Convert it with --hz F or --plan FILE; if the times only count steps, with --rate F.",
	dataset.CodeTaskMissing:    "Convert it with --task TEXT, or with --task-from NAME if a text topic or column has the instruction.",
	dataset.CodeFeatureMissing: "Convert it with --state and --action, which join streams, or with --name STREAM=FEATURE.",
	dataset.CodeFormatVersion:  "Convert it: robocache convert --to lerobot-2.1 writes version 2.1, and --to lerobot version 3.0.",
	dataset.CodeFileMissing:    "Convert it with --modality, which writes the file, or write it by hand: GR00T finds the parts of state and action by it.",
	dataset.CodeNotInFirst:     "Convert it with --extra drop or --extra skip, or with a plan whose streams are in all episodes.",
}

// AddMisfits adds findings to the report on the dataset at path: an error for each reason why a reader refuses an episode or lacks
// something, and a warning for content that it has no place for. A reason of several episodes is about the whole dataset.
func (r *Report) AddMisfits(path string, refused, leftOut dataset.EpisodeNotes) {
	r.Checked.Kinds = append(r.Checked.Kinds, Misfit)
	var list []Finding
	for _, n := range refused.List {
		list = append(list, misfit(path, n))
	}
	for _, n := range leftOut.List {
		f := misfit(path, n)
		f.Severity = Warning
		list = append(list, f)
	}
	r.Findings = append(r.Findings, grouped(list)...)
	sortFindings(r.Findings)
}

func misfit(path string, reason dataset.EpisodeNote) Finding {
	f := findingOf(Misfit, &reason.Note)
	f.Path, f.Episode = path, Whole
	if reason.Episodes == 1 {
		f.Episode = reason.Number
	}
	if reason.Note.Code == dataset.CodeEpisodeUnread {
		f.Streams = nil // the subject is the episode
	}
	if what := misfitAdvice[reason.Note.Code]; what != "" {
		f.WhatToDo = what
	}
	return *f
}

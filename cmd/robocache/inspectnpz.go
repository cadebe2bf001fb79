package main

import (
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
)

// everyStream reads an archive's streams, and lists what else it holds.
func everyStream(file *npz.File, strict bool) (*dataset.Episode, error) {
	e, used, err := file.Episode(npz.EpisodeOptions{Strict: strict})
	if err != nil {
		return nil, err
	}
	for i := range e.LeftOut { // an array, or a stream that has another array of its name beside it
		l := &e.LeftOut[i]
		if use := takenElsewhere(file, l.Name); use != "" && file.Has(l.Name) && !file.Has(l.Name+".values") {
			l.Reason = reasonOf(file, l.Name, use)
		}
	}
	for _, name := range unused(file, used) {
		use := takenElsewhere(file, name)
		switch {
		case use != "":
		case file.Has(name + ".values"):
			use = " beside an array " + name + ".values, which is the stream"
		default:
			use = " of no stream, which has NAME.values and NAME.times, or is records with a clock"
		}
		e.LeftOut = append(e.LeftOut, dataset.LeftOut{Name: name, Reason: reasonOf(file, name, use)})
	}
	for _, name := range file.Others() {
		e.LeftOut = append(e.LeftOut, dataset.LeftOut{Name: name, Reason: "no .npy array"})
	}
	return e, nil
}

// reasonOf says what an array is and what it is for, or why it cannot be read.
func reasonOf(file *npz.File, name, use string) string {
	head, err := file.Header(name)
	if err != nil {
		return strings.TrimPrefix(err.Error(), "npy: ")
	}
	return head.String() + use
}

// takenElsewhere says what takes an array that is no part of a stream, or nothing.
func takenElsewhere(file *npz.File, name string) string {
	switch {
	case file.Has("values") && file.Has("times") && slices.Contains([]string{"values", "times", "targets", "lengths"}, name):
		return ", " + name + " of the batch that robocache resample takes"
	case name == "targets":
		return ", the clock that robocache fuse takes without --hz"
	case file.Has("points") && slices.Contains([]string{"points", "features", "offsets"}, name):
		return ", " + name + " of the cloud that robocache voxelize takes"
	}
	return ""
}

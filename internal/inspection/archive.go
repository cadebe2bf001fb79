package inspection

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/storage"
)

// Open opens a recording or dataset as dataset.Open does. If it is an archive of arrays, notes also list the arrays that make no stream.
func Open(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
	is, err := isArchive(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case !is || opt.Clock != "":
		return dataset.Open(ctx, path, opt)
	}
	return dataset.Select(Archive(path, opt.Strict), opt.Episodes)
}

// isArchive reports whether a file is an archive of arrays by its name or first bytes.
func isArchive(ctx context.Context, path string) (is bool, err error) {
	defer dataset.Watched(path, &err)()
	f, failed := storage.Open(ctx, path)
	if failed != nil { // dataset.Open reports it
		return false, nil
	}
	defer f.Close()
	var head [4]byte
	n, _ := f.ReadAt(head[:], 0)
	if n < len(head) || string(head[:]) != "PK\x03\x04" && string(head[:]) != "PK\x05\x06" {
		return strings.EqualFold(filepath.Ext(path), ".npz"), nil
	}
	format, failed := dataset.Recognise(ctx, path) // a zip file may have another format's files
	return failed != nil || format.Name == "npz", nil
}

// Archive returns the dataset of an .npz file. Its episode also has notes about arrays that make no stream; their cause is an
// *npz.StreamError.
func Archive(path string, strict bool) dataset.Dataset {
	return dataset.Single("npz", path, func(context.Context) (*dataset.Episode, error) {
		file, err := npz.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if len(file.Names()) == 0 {
			others := file.Others()
			got := fmt.Sprintf("%d members, none of them called NAME.npy", len(others))
			return nil, &dataset.FormatError{Format: "npz", Path: path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "archive", Got: got, Want: "arrays"}
		}
		e, err := everyStream(file, strict)
		if err != nil {
			return nil, err
		}
		e.Name, e.Attributes.Source = dataset.BaseName(path), path
		return e, nil
	})
}

// Unused returns the names of an archive's arrays that are not among those.
func Unused(file *npz.File, used []string) (rest []string) {
	seen := make(map[string]bool, len(used))
	for _, name := range used {
		seen[name] = true
	}
	for _, name := range file.Names() {
		if !seen[name] {
			rest = append(rest, name)
		}
	}
	return rest
}

// everyStream reads the streams of an archive, and adds notes about its other arrays.
func everyStream(file *npz.File, strict bool) (*dataset.Episode, error) {
	e, used, err := file.Episode(npz.EpisodeOptions{Strict: strict})
	if err != nil {
		return nil, err
	}
	for i := range e.Notes { // an array, or a stream that has another array of its name beside it
		n := &e.Notes[i]
		if code := takenElsewhere(file, n.Subject); code != "" && file.Has(n.Subject) && !file.Has(n.Subject+".values") {
			*n = arrayNote(file, n.Subject, dataset.Note{Code: code})
		}
	}
	for _, name := range Unused(file, used) {
		n := dataset.Note{Code: takenElsewhere(file, name)}
		switch {
		case n.Code != "":
		case file.Has(name + ".values"):
			n.Code, n.Names = dataset.CodeOtherArray, []string{name + ".values"}
		default:
			n.Code, n.Want = dataset.CodeNoStream, "NAME.values and NAME.times, or is records with a clock"
		}
		e.Notes.Add(arrayNote(file, name, n))
	}
	for _, name := range file.Others() {
		e.Notes.Add(dataset.Note{Code: dataset.CodeNotArray, Subject: name})
	}
	return e, nil
}

// arrayNote completes a note about an array; if the array cannot be read, the note is about that.
func arrayNote(file *npz.File, name string, n dataset.Note) dataset.Note {
	head, err := file.Header(name)
	if err != nil {
		return npz.ArrayNote(name, err)
	}
	n.Subject, n.Got = name, head.String()
	return n
}

// takenElsewhere returns the code of an array that a command takes and that is no part of a stream, else "".
func takenElsewhere(file *npz.File, name string) dataset.Code {
	switch {
	case file.Has("values") && file.Has("times") && slices.Contains([]string{"values", "times", "targets", "lengths"}, name):
		return dataset.CodeBatchArray
	case name == "targets":
		return dataset.CodeClockArray
	case file.Has("points") && slices.Contains([]string{"points", "features", "offsets"}, name):
		return dataset.CodeCloudArray
	}
	return ""
}

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

// Open opens a recording or dataset as dataset.Open does. Of an archive of arrays more is listed as left out than its dataset knows.
func Open(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
	if opt.Clock != "" || !isArchive(ctx, path) {
		return dataset.Open(ctx, path, opt)
	}
	return Archive(path, opt.Strict), nil
}

// isArchive reports whether a file is an archive of arrays by its name or first bytes.
func isArchive(ctx context.Context, path string) bool {
	st, err := storage.Stat(ctx, path) // first, since to open a pipe is to wait for its other end
	if err != nil || !st.IsRegular() {
		return false
	}
	if strings.EqualFold(filepath.Ext(path), ".npz") {
		return true
	}
	f, err := storage.Open(ctx, path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [4]byte
	n, _ := f.ReadAt(head[:], 0)
	return n == len(head) && (string(head[:]) == "PK\x03\x04" || string(head[:]) == "PK\x05\x06")
}

// Archive is the dataset of an archive of arrays, whose episode lists what of it is no stream, too. An array that makes none is an *npz.StreamError.
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
	for _, name := range Unused(file, used) {
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

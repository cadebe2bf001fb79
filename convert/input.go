package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/sources"
)

// input is an open dataset of a conversion.
type input struct {
	path  string
	from  dataset.Dataset
	info  dataset.Info
	first int            // the number of its first episode
	split [][]string     // the splits of each episode, by its number in the input
	files []sources.File // hashes has some of them
}

// InputError reports an input that cannot be opened.
type InputError struct {
	Path string
	Err  error
}

func (e *InputError) Error() string { return fmt.Sprintf("convert: %s: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

// open opens inputs and numbers their episodes, one input after another. If an input cannot be opened, the error is an *InputError; if
// there is no episode, an *OptionError. After an error nothing stays open.
func open(ctx context.Context, paths []string, opt dataset.Options) (list []input, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(list))
		}
	}()
	episodes := 0
	for _, path := range paths {
		d, err := inspection.Open(ctx, path, opt)
		if err != nil {
			return list, &InputError{path, err}
		}
		if d.Format() == "lerobot" { // so that its videos can be copied
			dataset.Hold(d)
		}
		in := input{path: path, from: d, info: d.Info(), first: episodes}
		in.split = in.info.SplitsOf(d.Len())
		episodes += d.Len()
		in.files, err = sources.List(ctx, path)
		if list = append(list, in); err != nil {
			return list, &InputError{path, err}
		}
	}
	if episodes == 0 {
		return list, refuse("inputs", "no episodes", "one or more")
	}
	return list, nil
}

// known returns an *OptionError if a selected media stream exists in no episode. Inputs that declare cameras are not read. Other inputs are
// read until all names are found. So if a name is wrong, all their episodes are read.
func known(ctx context.Context, list []input, media []string) error {
	names := map[string]bool{"": true}
	lacking := func() int { return slices.IndexFunc(media, func(name string) bool { return !names[name] }) }
	declares := make([]bool, len(list))
	for i := range list {
		for _, f := range list[i].info.Features {
			if f.Media {
				names[f.Name], declares[i] = true, true
			}
		}
	}
	for k := 0; lacking() >= 0; k++ { // the first episodes of all inputs come first
		left := false
		for i := range list {
			if declares[i] || k >= list[i].from.Len() {
				continue
			}
			left = true
			e, err := list[i].from.Episode(ctx, k)
			if dataset.IsFatal(err) {
				return err
			}
			if err != nil { // the conversion reports it later
				continue
			}
			for m := range e.Media {
				names[e.Media[m].Name] = true
			}
		}
		if left {
			continue
		}
		var have []string
		for name := range names {
			if name != "" {
				have = append(have, name)
			}
		}
		slices.Sort(have)
		want := "none: no episode has a camera"
		if len(have) > 0 {
			want = strings.Join(have, ", ")
		}
		return refuse("media", fmt.Sprintf("%q", media[lacking()]), want)
	}
	return nil
}

func closeAll(list []input) (err error) {
	for i := range list {
		err = errors.Join(err, list[i].from.Close())
	}
	return err
}

// at returns the input with an episode, the input's index in the list, and the episode's number in that input.
func at(list []input, number int) (in *input, index, there int) {
	index, found := slices.BinarySearchFunc(list, number, func(in input, n int) int { return in.first - n })
	if !found {
		index--
	}
	for list[index].from.Len() == 0 { // of inputs without episodes, which begin where the next does
		index++
	}
	return &list[index], index, number - list[index].first
}

// listing returns a hash of the names and sizes of all input files.
func listing(list []input) string {
	sum := sha256.New()
	for i := range list {
		fmt.Fprintf(sum, "%d\n", len(list[i].files))
		for _, f := range list[i].files {
			fmt.Fprintf(sum, "%d %q\n", f.Bytes, f.Path)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// hashed returns the inputs' reports, with hashes of the files that this shard checks: shard j % shards hashes file j. For the other files
// a report has only a hash of the modification times, because otherwise every shard would read all inputs.
func hashed(ctx context.Context, list []input, name func(string) string, shard, shards int) ([]InputReport, error) {
	var out []InputReport
	j := 0
	for i := range list {
		in := &list[i]
		r := InputReport{Path: in.path, Format: in.from.Format(), Episodes: in.from.Len(), Files: len(in.files), Hashed: []sources.File{}}
		if name != nil {
			r.Path = name(in.path)
		}
		if n := in.info.Absent(); n != nil {
			r.Notes.Add(*n)
		}
		others := sha256.New()
		for _, f := range in.files {
			if j++; (j-1)%shards == shard {
				r.Hashed = append(r.Hashed, f)
			} else {
				fmt.Fprintf(others, "%d\n", f.Modified)
			}
		}
		if shards > 1 {
			r.Modified = hex.EncodeToString(others.Sum(nil))
		}
		if err := sources.Hash(ctx, in.path, r.Hashed); err != nil {
			return nil, &InputError{in.path, err}
		}
		out = append(out, r)
	}
	return out, nil
}

// unchanged returns an *InputError if an input's files changed after it was opened: other names or sizes, or another modification time if
// the storage records it.
func unchanged(ctx context.Context, list []input) error {
	for i := range list {
		in := &list[i]
		now, err := sources.List(ctx, in.path)
		if err != nil {
			return &InputError{in.path, err}
		}
		if !slices.Equal(now, in.files) {
			return &InputError{in.path, errors.New("its files changed while they were read")}
		}
	}
	return nil
}

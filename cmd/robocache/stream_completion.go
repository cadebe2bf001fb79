package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// episodeOf returns an episode of a recording, or nil if it cannot be read.
func episodeOf(path string, number episodeFlag) *dataset.Episode {
	d, err := inspection.Open(context.Background(), path, dataset.Options{})
	if err != nil {
		return nil
	}
	defer d.Close()
	at, err := number.place(d, path)
	if err != nil {
		return nil
	}
	e, err := d.Episode(context.Background(), max(at, 0))
	if err != nil {
		return nil
	}
	return e
}

// completeListed registers completions with the entries of the first recording on a command line. A value may be a list with commas.
func completeListed(cmd *cobra.Command, list func(path string) []string, flags ...string) {
	for _, flag := range flags {
		completeWith(cmd, flag, func(args []string, word string) (words []string) {
			if len(args) == 0 {
				return cobra.AppendActiveHelp(nil, "write the recording before --"+flag+" to list its entries")
			}
			for _, entry := range list(args[0]) {
				words = append(words, word[:strings.LastIndex(word, ",")+1]+entry)
			}
			return words
		})
	}
}

// completeFrom registers completions with the names that list returns for an episode, each with the ending.
func completeFrom(cmd *cobra.Command, list func(*dataset.Episode) []string, ending string, flags ...string) {
	completeListed(cmd, func(path string) (names []string) {
		if e := episodeOf(path, -1); e != nil {
			for _, name := range list(e) {
				names = append(names, name+ending)
			}
		}
		return names
	}, flags...)
}

// selectionFlags adds the flags that select episodes, and completes their numbers.
func selectionFlags(cmd *cobra.Command, to *dataset.Selection) {
	f := cmd.Flags()
	f.Var(rangesFlag{&to.Take}, "episodes", "the episodes to take, by the dataset's own numbers, such as 0-9,12")
	f.Var(rangesFlag{&to.Leave}, "leave-out", "the episodes to leave out, such as 3,7")
	completeEpisodes(cmd, "episodes", "leave-out")
}

// datasetFlags adds the flags that select episodes, and those for reading them, except --strict.
func datasetFlags(cmd *cobra.Command, to *dataset.Options) {
	selectionFlags(cmd, &to.Episodes)
	readingFlags(cmd.Flags(), to)
}

// completeEpisodes registers completions with up to 1000 episode numbers.
func completeEpisodes(cmd *cobra.Command, flags ...string) {
	completeListed(cmd, func(path string) (numbers []string) {
		d, err := inspection.Open(context.Background(), path, dataset.Options{})
		if err != nil {
			return nil
		}
		defer d.Close()
		info := d.Info()
		for place := range min(d.Len(), 1000) {
			numbers = append(numbers, strconv.Itoa(info.Number(place)))
		}
		return numbers
	}, flags...)
}

// namesOfAll returns the names of streams and cameras.
func namesOfAll(e *dataset.Episode) []string { return append(e.Names(), e.MediaNames()...) }

// nameFlag adds a flag for one of a few names, with their completion.
func nameFlag(cmd *cobra.Command, to *string, flag, value, usage string, names ...string) {
	cmd.Flags().StringVar(to, flag, value, usage)
	complete(cmd, flag, func() []string { return names })
}

func backendFlag(cmd *cobra.Command, to *string, value, usage string) {
	nameFlag(cmd, to, "backend", value, usage, backendNames()...)
}

func unorderedFlag(cmd *cobra.Command, to *string, usage string) {
	nameFlag(cmd, to, "unordered", "", usage, align.Unordereds...)
}

// choiceFlag adds a flag for a value from a list, with the completion of their names.
func choiceFlag(cmd *cobra.Command, to interface {
	pflag.Value
	Names() []string
}, flag, usage string) {
	cmd.Flags().Var(to, flag, usage)
	complete(cmd, flag, to.Names)
}

package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// readingFlags adds the flags for reading recordings, except --strict.
func readingFlags(f *pflag.FlagSet, opt *dataset.Options) {
	f.Var(cli.Hertz(&opt.Rate), "rate", "steps a second, for recordings that have no times and no rate")
	f.StringVar(&opt.Clock, "clock", "", "the clock for timestamps, if a format has several: inspect lists them")
	f.IntVar(&opt.Stretch, "stretch", 0, "the `NUMBER` from 1 of one stretch, if a log's clock was set back while it was recorded; -1 mixes all")
	f.StringVar(&opt.TaskFrom, "task-from", "", "the text `TOPIC` or column with the task: a row has the last text before it")
	definitionsFlag(f, &opt.Definitions)
}

// rangesFlag is numbers of episodes, such as 0-9,12.
type rangesFlag struct{ to *dataset.Ranges }

func (r rangesFlag) String() string {
	if r.to == nil {
		return ""
	}
	return r.to.String()
}

func (rangesFlag) Type() string { return "N,N-N" }

func (r rangesFlag) Set(text string) error {
	list, err := dataset.ParseRanges(text)
	*r.to = append(*r.to, list...)
	return err
}

// definitionsFlag adds the flag for message definitions, because recordings may lack theirs.
func definitionsFlag(f *pflag.FlagSet, list *[]string) {
	f.StringArrayVar(list, "msg-path", nil, "a `FOLDER` or file with message definitions (.msg, .idl), for recordings that lack some; repeatable")
}

// takesRecordings registers completions with recordings for a command's arguments. Before the command runs, the arguments from index first
// on are replaced by the paths of local copies if they are dataset ids on the Hub.
func takesRecordings(cmd *cobra.Command, first int) {
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = recordingFiles
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		for i := first; i < len(args); i++ {
			if args[i], err = batching.Find(args[i]); err != nil {
				return err
			}
		}
		return run(cmd, args)
	}
}

// recordingFiles completes recording names.
func recordingFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	list := []string{"npz"}
	for _, f := range dataset.Formats() {
		for _, ext := range f.Extensions {
			list = append(list, strings.TrimPrefix(ext, "."))
		}
	}
	return list, cobra.ShellCompDirectiveFilterFileExt
}

// episodeFlag is an episode's number, or -1 if it is not given.
type episodeFlag int

func (e *episodeFlag) String() string {
	if *e < 0 {
		return ""
	}
	return strconv.Itoa(int(*e))
}

func (e *episodeFlag) Type() string { return "N" }

func (e *episodeFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return errors.New("want the number of an episode, counted from 0")
	}
	*e = episodeFlag(n)
	return nil
}

// place returns an episode's index in the dataset, by the dataset's own number; -1 without the flag.
func (e episodeFlag) place(d dataset.Dataset, path string) (int, error) {
	info, n := d.Info(), d.Len()
	at := info.Place(int(e), n)
	if at < 0 && e >= 0 {
		return at, usagef("--episode: got %d, and %s holds %s, numbered %s", e, path, episodes(n), info.NumbersText(n))
	}
	return at, nil
}

// of returns the episode with the given number, or the dataset's only episode if no number is given. If there are several, it is an error.
func (e episodeFlag) of(ctx context.Context, d dataset.Dataset, path string) (*dataset.Episode, error) {
	info, n := d.Info(), d.Len()
	at, err := e.place(d, path)
	switch {
	case err != nil:
		return nil, err
	case at < 0 && n != 1:
		return nil, usagef("%s holds %s, want --episode %s", path, episodes(n), info.NumbersText(n))
	}
	at = max(at, 0)
	episode, err := d.Episode(ctx, at)
	if err != nil {
		return nil, readError(path, err)
	}
	return episode, nil
}

func episodes(n int) string { return text.Count(n, "episode") }

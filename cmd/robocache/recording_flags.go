package main

import (
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// readingFlags are the flags of commands that read recordings: how they are read, but for --strict.
func readingFlags(f *pflag.FlagSet, opt *dataset.Options) {
	f.Var(hertz(&opt.Rate), "rate", "steps a second of recordings that have no times and do not say")
	f.StringVar(&opt.Clock, "clock", "", "where timestamps come from, of formats that have several clocks: inspect lists them")
	definitionsFlag(f, &opt.Definitions)
}

// definitionsFlag is the flag of commands that read recordings, whose messages may lack their definitions.
func definitionsFlag(f *pflag.FlagSet, list *[]string) {
	f.StringArrayVar(list, "msg-path", nil, "a `folder` or file of message definitions (.msg, .idl), of recordings that lack some; repeatable")
}

// recordingFiles completes the name of a recording.
func recordingFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	list := []string{"npz"}
	for _, f := range dataset.Formats() {
		for _, ext := range f.Extensions {
			list = append(list, strings.TrimPrefix(ext, "."))
		}
	}
	return list, cobra.ShellCompDirectiveFilterFileExt
}

// hertz is the flag of a rate.
func hertz(to *float64) *positiveFlag { return &positiveFlag{to: to, max: 1e9, unit: "HZ"} }

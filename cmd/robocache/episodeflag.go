package main

import (
	"errors"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/spf13/pflag"
)

// episodeFlag is the number of an episode, -1 until one is given.
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

package main

import (
	"errors"
	"strconv"
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

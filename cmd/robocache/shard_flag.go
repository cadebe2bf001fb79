package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/robocache/robocache/internal/batching"
)

// arrays are the schedulers' variables for an array task's index and for the count. Kubernetes has no count.
var arrays = []struct{ index, count string }{
	{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"},
	{batching.CompletionIndex, ""},
	{"AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE"},
	{"BATCH_TASK_INDEX", "BATCH_TASK_COUNT"},
	{"CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT"},
}

// shardFlag is a shard and the shard count, I/N.
type shardFlag struct {
	index, count int
}

func (s *shardFlag) String() string {
	if s.count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.index, s.count)
}

func (s *shardFlag) Type() string { return "I/N" }

func (s *shardFlag) Set(text string) error {
	first, rest, found := strings.Cut(text, "/")
	index, err := strconv.Atoi(first)
	count, failed := strconv.Atoi(rest)
	if !found || err != nil || failed != nil || count < 1 || index < 0 || index >= count {
		return fmt.Errorf("got %q, want a shard of so many, counted from 0, such as 3/8", text)
	}
	*s = shardFlag{index, count}
	return nil
}

// shardFlags are --shard, which names one shard, and --shards, which is a count.
type shardFlags struct {
	one shardFlag
	all int
}

// shardRange has the shards from begin to end-1 of count that a program makes; count is 0 without shards. from has the variables that chose one.
type shardRange struct {
	begin, end, count int
	from              string
}

// choose returns the shards by the flags that are given. most is the largest count.
func (s *shardFlags) choose(given func(flag string) bool, most int) (r shardRange, err error) {
	switch {
	case given("shard"):
		if given("shards") && s.all != s.one.count {
			return r, usagef("--shards: got %d with --shard %v, want these equal, or one of them", s.all, &s.one)
		}
		return shardRange{s.one.index, s.one.index + 1, s.one.count, ""}, nil
	case given("shards"):
		if s.all < 1 || s.all > most {
			return r, usagef("--shards: got %d, want 1 to %d", s.all, most)
		}
		r.count = s.all
		r.begin, r.end, r.from, err = shardsOf(s.all, os.Getenv)
		return r, err
	}
	return shardRange{end: 1}, nil
}

// shardsOf returns the range of shards that this program packs, out of count, and the source of that choice. It returns all shards if the
// program is neither an array task nor one of several programs. It returns an error if variables disagree with each other or with count.
func shardsOf(count int, getenv func(string) string) (begin, end int, from string, err error) {
	find := func(index, of int, by string) error {
		switch {
		case of != count:
			return usagef("--shards: got %d, where %s is %d, want these equal, or --shard I/N", count, by, of)
		case from != "" && index != begin:
			return usagef("%s sets shard %d, %s sets %d, want --shard I/N", from, begin, by, index)
		case from == "":
			begin, end, from = index, index+1, by
		}
		return nil
	}
	begin, end = 0, count
	for _, a := range arrays {
		if getenv(a.index) == "" {
			continue
		}
		index, of, by := 0, count, a.index
		if index, err = batching.Variable(getenv, a.index); err == nil && a.count != "" {
			by += " and " + a.count
			of, err = batching.Variable(getenv, a.count)
		}
		if err == nil && a.index == "SLURM_ARRAY_TASK_ID" { // the user chooses the numbers, for example 1-8 or 0-14:2
			index, err = slurmIndex(getenv, index)
		}
		if err != nil {
			return 0, 0, "", err
		}
		if index >= of {
			return 0, 0, "", usagef("%s: got %d, want less than the number of shards, %d, or --shard I/N", a.index, index, of)
		}
		if err := find(index, of, by); err != nil {
			return 0, 0, "", err
		}
	}
	p, err := batching.PlaceOf(nil, nil, getenv, nil)
	if err == nil && p.Count > 1 {
		err = find(p.Index, p.Count, p.From)
	}
	if err != nil {
		return 0, 0, "", err
	}
	return begin, end, from, nil
}

// slurmIndex returns the index of the task with an id in its Slurm array, from 0.
func slurmIndex(getenv func(string) string, id int) (int, error) {
	least, step := 0, 1
	var err error
	if getenv("SLURM_ARRAY_TASK_MIN") != "" {
		if least, err = batching.Variable(getenv, "SLURM_ARRAY_TASK_MIN"); err != nil {
			return 0, err
		}
	}
	if getenv("SLURM_ARRAY_TASK_STEP") != "" {
		if step, err = batching.Variable(getenv, "SLURM_ARRAY_TASK_STEP"); err != nil {
			return 0, err
		}
	}
	if step < 1 || id < least || (id-least)%step != 0 {
		return 0, usagef("SLURM_ARRAY_TASK_ID: got %d, of an array from %d in steps of %d, want --shard I/N", id, least, step)
	}
	return (id - least) / step, nil
}

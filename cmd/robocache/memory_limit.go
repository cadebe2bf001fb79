package main

import (
	"os"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/memory"
)

// memoryVariable is --max-memory for programs that start this one, such as Python.
const memoryVariable = "ROBOCACHE_MAX_MEMORY"

// leastMemory is what any command takes, bytes.
const leastMemory = 64 << 20

// bytesFlag is --max-memory.
type bytesFlag struct{ text *string }

func (f bytesFlag) String() string {
	if f.text == nil {
		return ""
	}
	return *f.text
}

func (bytesFlag) Type() string { return "BYTES" }

func (f bytesFlag) Set(text string) error {
	_, err := memory.Parse(text)
	*f.text = text
	return err
}

// limitMemory sets the limit of the memory, and ends the program with a sentence if the command takes more.
func (a *app) limitMemory(flag string) error {
	text, name := flag, "--max-memory"
	if text == "" {
		text, name = os.Getenv(memoryVariable), memoryVariable
	}
	bytes := int64(0)
	if text != "" {
		var err error
		if bytes, err = memory.Parse(text); err != nil {
			return usagef("%s: %v", name, err)
		}
	}
	memory.Set(bytes)
	over := func(err *memory.Error) {
		code := a.fail(err, a.JSON, nil)
		atomicfile.Abandon()
		os.Exit(code)
	}
	if limit := memory.Limit(); limit.Bytes < leastMemory {
		return &memory.Error{What: "the program", Bytes: leastMemory, Limit: limit}
	}
	a.memory = memory.Watch(over)
	return nil
}

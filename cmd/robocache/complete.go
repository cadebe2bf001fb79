package main

import (
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset/ulog"
	"github.com/spf13/cobra"
)

// completions gives the shell the values of the flags, and the names of the streams in IN.
func (r *request) completions(cmd *cobra.Command) {
	complete(cmd, "kind", r.kind.names)
	complete(cmd, "quat", r.quat.names)
	complete(cmd, "edge", r.edge.names)
	complete(cmd, "range", r.span.names)
	complete(cmd, "dtype", r.dtype.names)
	complete(cmd, "in-dtype", r.from.names)
	complete(cmd, "backend", backendNames)
	complete(cmd, "unordered", func() []string { return align.Unordereds })
	files(cmd, map[string]string{"output": "npz", "plot": "png"})
	err := cmd.RegisterFlagCompletionFunc("stream", func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		return r.completeStream(args, word), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // as below
	}
}

// files says which flags of a command name files, and of which kind.
func files(cmd *cobra.Command, kinds map[string]string) {
	for flag, ext := range kinds {
		if err := cmd.MarkFlagFilename(flag, ext); err != nil {
			panic(err) // a flag that does not exist: a mistake in this package
		}
	}
}

// completeStream returns the streams of the input that were not given yet, or after a colon the kinds.
func (r *request) completeStream(args []string, word string) []string {
	if name, _, found := strings.Cut(word, ":"); found {
		var list []string
		for _, k := range r.kind.names() {
			list = append(list, name+":"+k)
		}
		return list
	}
	if len(args) != 1 {
		return nil
	}
	log, err := ulog.ReadFile(args[0], ulog.Options{})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(log.Names(), func(name string) bool {
		return slices.ContainsFunc(r.streams, func(given string) bool {
			given, _, _ = strings.Cut(given, ":")
			return given == name
		})
	})
}

package main

import (
	"context"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
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
	complete(cmd, "encoding", r.encoding.names)
	complete(cmd, "unordered", func() []string { return align.Unordereds })
	files(cmd, map[string]string{"output": "npz safetensors mcap", "plot": "png"})
	err := cmd.RegisterFlagCompletionFunc("stream", func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		return r.completeStream(args, word), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // as below
	}
}

// files says which flags of a command name files, and of which kinds.
func files(cmd *cobra.Command, kinds map[string]string) {
	for flag, exts := range kinds {
		if err := cmd.MarkFlagFilename(flag, strings.Fields(exts)...); err != nil {
			panic(err) // a flag that does not exist: a mistake in this package
		}
	}
}

// folders says which flags of a command name folders.
func folders(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagDirname(flag); err != nil {
			panic(err) // as above
		}
	}
}

// completeStream returns the streams of the input that were not given yet, and after a name and a colon the kinds.
func (r *request) completeStream(args []string, word string) []string {
	if len(args) != 1 {
		return nil
	}
	names := streamNames(args[0], int(max(r.episode, 0)))
	var list []string
	if name, rest := splitName(word, names); rest != "" {
		columns := ""
		if rest[0] == '[' {
			columns, rest = rest[:strings.IndexByte(rest, ']')+1], rest[strings.IndexByte(rest, ']')+1:]
		}
		if strings.HasPrefix(rest, ":") {
			for _, k := range r.kind.names() {
				list = append(list, name+columns+":"+k)
			}
		}
	}
	given := map[string]bool{}
	for _, f := range r.streams {
		name, _ := splitName(f, names)
		given[name] = true
	}
	for _, name := range names {
		if !given[name] {
			list = append(list, name)
		}
	}
	return list
}

// streamNames returns the names of a recording's streams, of a dataset those of the episode; none of what cannot be read.
func streamNames(path string, episode int) []string {
	if form, _ := formatOf(path); form == "npz" {
		file, err := npz.Open(path)
		if err != nil {
			return nil
		}
		defer file.Close()
		return file.StreamNames()
	}
	d, err := dataset.Open(context.Background(), path, dataset.Options{})
	if err != nil {
		return nil
	}
	defer d.Close()
	e, err := d.Episode(context.Background(), episode)
	if err != nil {
		return nil
	}
	return e.Names()
}

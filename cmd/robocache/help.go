package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// documents is the address of the pages in docs.
const documents = "https://github.com/robocache/robocache/blob/main/docs/"

// pages has the names of documents by command, for commands with their own document.
var pages = map[string]string{"doctor": "doctor", "view": "view", "plan": "plans", "convert": "convert", "stats": "statistics", "batches": "batches",
	"pack": "batches", "train": "train", "policy": "train", "serve": "train", "info": "gpu-node", "bench": "kernels", "tune": "gpu-node", "profile": "write-a-kernel"}

// helpWidth is the width of help text in characters. flagWidth is the width of the column with a flag and its value.
const helpWidth, flagWidth = 80, 26

// topics are the headings of flags in help, in their order. A command's name and a space precede a flag with another topic in that command.
var topics = []struct {
	title string
	flags []string
}{
	{"Input", []string{"episode", "episodes", "clock", "rate", "stretch", "msg-path", "strict", "task-from", "unordered", "in-dtype", "quat", "cloud",
		"voxelize columns", "merge", "after", "from", "compare", "shapes", "videos", "allow-skipped", "check-fresh", "hold-out", "leave-out", "prediction"}},
	{"Streams and cameras", []string{"stream", "media", "frames", "camera", "video-backend", "tolerance-s", "state", "action", "batches window", "name", "weight"}},
	{"Clock and methods", []string{"plan", "hz", "method", "kind", "range", "max-gap", "fill-gaps", "fill", "tolerance", "window", "period", "edge", "snap"}},
	{"Grid", []string{"tsdf", "truncation", "near", "far", "scale", "intrinsics", "fixed", "color", "voxelize size", "min", "max", "mode", "reduce", "order", "max-points", "max-voxels", "empty", "preset"}},
	{"Findings", []string{"for", "fail-on", "max-step"}},
	{"LeRobot", []string{"robot", "cameras", "codec", "extra", "modality", "keep-invalid"}},
	{"Order", []string{"batch", "seed", "epochs", "steps", "shuffle", "last", "mix-shards", "shard-windows", "epoch-windows", "episode-weights", "drop-first", "drop-last", "streaming", "batches state", "signal-code"}},
	{"Training", []string{"policy", "size", "sampler", "condition", "sample-steps", "execute", "lr", "floor", "train from", "resume", "train batch", "train steps",
		"accumulate", "ema", "dropout", "train seed"}},
	{"Measurement", []string{"only", "launch", "limit", "time", "samples", "rotate", "bench batch", "tune batch", "sweep", "bench seed", "worst", "runs", "first", "explain",
		"live", "policy hz"}},
	{"Output", []string{"output", "out", "to", "task", "plot", "html", "columns", "encoding", "dtype", "format", "tar-bytes", "tar-samples", "list", "digest", "replace",
		"no-quantiles", "benchstat", "markdown", "log-dir"}},
	{"Machine", []string{"backend", "shard", "shards", "rank", "world", "workers", "nccl", "frame-level", "frame-memory", "metrics", "port", "listen", "no-open", "token", "tls-cert", "tls-key", "max-message", "max-connections", "timeout", "fd"}},
	{"General", []string{"help", "json", "max-memory", "version", "wide"}},
}

func init() { cobra.EnableCommandSorting = false } // groups have an order

// topicOf returns the index of a flag's topic. If no topic lists the flag, it returns the index of the last topic, which is general.
func topicOf(command, flag string) int {
	for _, name := range []string{command + " " + flag, flag} {
		for i, t := range topics {
			if slices.Contains(t.flags, name) {
				return i
			}
		}
	}
	return len(topics) - 1
}

// printHelp prints a command's usage, commands and examples, then its flags by topic, its description and its document.
func printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s.\n\nUsage:\n  %s\n", strings.TrimSuffix(cmd.Short, "."), cmd.UseLine())
	for _, g := range append(cmd.Groups(), &cobra.Group{Title: "Commands:"}) {
		title := "\n" + g.Title + "\n"
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				fmt.Fprintf(w, "%s  %-11s %s\n", title, c.Name(), c.Short)
				title = ""
			}
		}
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	flags := make([]string, len(topics))
	add := func(f *pflag.Flag) {
		if at := topicOf(cmd.Name(), f.Name); !f.Hidden {
			flags[at] += flagHelp(f)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for i, list := range flags {
		if list != "" {
			fmt.Fprintf(w, "\n%s:\n%s", topics[i].title, list)
		}
	}
	fmt.Fprintf(w, "\n%s\n\nMore: %s%s.md\n", fold(strings.TrimSpace(cmd.Long), helpWidth), documents, cmp.Or(pages[cmd.Name()], "command-line"))
}

// words has the placeholders that help shows for flag values, by Go's type name.
var words = map[string]string{"string": "NAME", "strings": "NAME", "stringArray": "NAME", "int": "N", "uint": "N", "ints": "N", "float": "NUMBER", "duration": "DURATION"}

// flagHelp returns the lines of a flag: its name and value, then its meaning, below them if they are long.
func flagHelp(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	name = strings.TrimRight(name+" "+cmp.Or(words[value], value), " ")
	if !slices.Contains([]string{"", "0", "false", "[]", "0s"}, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	indent := "\n" + strings.Repeat(" ", flagWidth+2)
	usage = strings.ReplaceAll(fold(usage, helpWidth-flagWidth-2), "\n", indent)
	if utf8.RuneCountInString(name) > flagWidth {
		return name + indent + usage + "\n"
	}
	return fmt.Sprintf("%-*s  %s\n", flagWidth, name, usage)
}

// fold breaks paragraphs into lines of at most width characters. Indented lines stay, and so do table rows, which have three spaces in a
// row.
func fold(text string, width int) string {
	var out []string
	open := false // the last line can be continued
	for _, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == ' ' || strings.Contains(line, "   ") {
			out, open = append(out, line), false
			continue
		}
		for _, word := range strings.Fields(line) {
			last := len(out) - 1
			if open && utf8.RuneCountInString(out[last])+1+utf8.RuneCountInString(word) <= width {
				out[last] += " " + word
			} else {
				out, open = append(out, word), true
			}
		}
	}
	return strings.Join(out, "\n")
}

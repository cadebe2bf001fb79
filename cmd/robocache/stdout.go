package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/internal/fault"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// toStandardOutput gives an output with the name - a temporary file. finish copies the file to standard output, and returns the command's error or its
// own. The report then goes to standard error.
func (a *app) toStandardOutput(flags *pflag.FlagSet) (finish func(error) error, err error) {
	finish = func(err error) error { return err }
	for _, name := range []string{"output", "out", "html", "plot"} {
		f := flags.Lookup(name)
		if f == nil || f.Value.String() != stdin {
			continue
		}
		switch {
		case f.Annotations[cobra.BashCompSubdirsInDir] != nil:
			return nil, usagef("--%s: got -, want a folder: the output has several files", name)
		case a.writes:
			return nil, usagef("--%s: got - for a second output, want a file", name)
		case a.JSON:
			return nil, usagef("--%s: got - with --json, which writes to standard output, want a file", name)
		}
		dir, err := a.temporaryFolder()
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "stdout")
		if kinds := f.Annotations[cobra.BashCompFilenameExt]; len(kinds) > 0 {
			path += "." + kinds[0]
		}
		a.Pipe.Add(path, "standard output")
		out := a.Out
		a.Out, a.writes = a.Err, true
		finish = func(err error) error {
			a.Out = out
			file, failed := fault.OpenFile(f.Value.String(), os.O_RDONLY, 0)
			if err != nil && errors.Is(failed, fs.ErrNotExist) { // nothing is written
				return err
			}
			if failed == nil {
				defer file.Close()
				_, failed = io.Copy(a.bytes, file)
			}
			return errors.Join(err, failed)
		}
		if err := f.Value.Set(path); err != nil {
			return nil, err
		}
	}
	return finish, nil
}

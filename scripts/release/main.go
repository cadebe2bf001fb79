// Command release builds what is published of a version into a folder: see release.Release. scripts/release.sh runs it in a clean clone.
//
//	go run ./scripts/release -o DIR [-version V]
//
// It runs at the root of the repository and prints the version, and the name and the size of each file.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/scripts/internal/release"
)

func main() {
	out := flag.String("o", "", "the folder to write")
	asked := flag.String("version", "", "the version, as v0.5.0 or 0.5.0rc1, unless it is that of git's tag")
	flag.Parse()
	if err := run(*out, *asked, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(out, asked string, rest []string) error {
	if out == "" || len(rest) > 0 {
		return fmt.Errorf("want -o DIR and no arguments, got -o %q and %q", out, rest)
	}
	version, err := release.Version(".", asked)
	if err != nil {
		return err
	}
	names, err := release.Release(".", version, out)
	if err != nil {
		return err
	}
	fmt.Println("robocache", version)
	for _, name := range names {
		st, err := os.Stat(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Printf("%10d  %s\n", st.Size(), name)
	}
	return nil
}

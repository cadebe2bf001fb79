// Command wheel writes the Python wheels for Linux on amd64 and arm64: the package python/robocache with a binary built from the tree.
//
//	go run ./scripts/wheel -o DIR [-version V]
//
// It runs at the root of the repository and prints the path and the size of each.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/robocache/robocache/scripts/internal/release"
)

func main() {
	out := flag.String("o", "", "the folder to write the wheels into")
	asked := flag.String("version", "", "the version, as v0.5.0 or 0.5.0rc1, unless it is that of git's tag")
	flag.Parse()
	if err := run(*out, *asked, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
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
	paths, err := release.Wheels(".", version, out)
	if err != nil {
		return err
	}
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Printf("%s  %.1f MB\n", path, float64(st.Size())/1e6)
	}
	return nil
}

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// The generated files.
const (
	outFile       = "zmanifest.go"
	interfaceFile = "zinterface.go"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run returns the exit code: 0 for success, 2 for usage errors, 1 for other errors.
func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("manifest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "ptx", "the folder with the kernels")
	check := flags.Bool("check", false, "compare with the files that are there, write nothing")
	release := flags.Bool("release", false, "only say which cubins are missing or stale: it fails if any is")
	sizes := flags.String("sizes", "", "only keep the table of what families cost in this `file`; with -check compare it")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 2
	}
	work := func() error { return write(*dir, *check) }
	switch {
	case *release:
		work = func() error { return checkRelease(*dir) }
	case *sizes != "":
		work = func() error { return updateSizes(*dir, *sizes, *check) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(stderr, "manifest:", err)
		return 1
	}
	return 0
}

func write(dir string, check bool) error {
	all, err := readFolder(dir)
	if err != nil {
		return err
	}
	manifest, err := render(all.families)
	if err != nil {
		return err
	}
	host, err := renderInterface(all.surface)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		want []byte
	}{{outFile, manifest}, {interfaceFile, host}} {
		path := filepath.Join(dir, f.name)
		if !check {
			err = os.WriteFile(path, f.want, 0o644)
		} else if got, e := os.ReadFile(path); e != nil {
			err = e
		} else {
			err = compare(path, got, f.want)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRelease returns an error if a family has no cubin, or a cubin built from other PTX than the folder's.
func checkRelease(dir string) error {
	all, err := readFolder(dir)
	if err != nil {
		return err
	}
	var bad []error
	for _, f := range all.families {
		cubin := f.images[0] // the best comes first
		text := slices.IndexFunc(f.images, func(im image) bool { return im.kind == "PTX" && im.sm == cubin.sm })
		switch {
		case cubin.kind != "Cubin":
			bad = append(bad, fmt.Errorf("%s has no cubin", f.name))
		case cubin.ptxHash != f.images[text].hash:
			bad = append(bad, fmt.Errorf("%s is stale: it was not made from %s", cubin.name, f.images[text].name))
		}
	}
	return errors.Join(bad...)
}

// compare returns an error with the first line that differs.
func compare(path string, got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(g), len(w)) {
		var a, b []byte
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("%s:%d is out of date: it says %q, the files say %q", path, i+1, bytes.TrimSpace(a), bytes.TrimSpace(b))
		}
	}
	return fmt.Errorf("%s is out of date", path)
}

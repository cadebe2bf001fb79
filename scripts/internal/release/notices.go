package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Module is a module with code in a binary. The standard library is the module "std".
type Module struct {
	Path, Version, Sum string
	Licences           []string // SPDX identifiers, sorted
	texts              []notice
	targets            []Target // targets with this module
}

type notice struct{ name, text string } // name: relative to the module's folder

// licenceFile matches names of files with licence terms or authors.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright|authors)([-._].*)?$`)

// Modules returns the modules linked into the targets' binaries, sorted. Each has the licences from its folder, from the folders of
// linked packages, and from the folders between. A module without a licence is an error.
func Modules(root string, targets []Target) ([]Module, error) {
	found := map[string]*Module{}
	folders := map[string]map[string]bool{} // for each module, the folders to search for licences
	for _, t := range targets {
		if err := t.packages(root, func(p listed) {
			path, dir := "std", "" // of the module
			switch {
			case p.Standard:
			case p.Module == nil || p.Module.Main:
				return
			default:
				path, dir = p.Module.Path, p.Module.Dir
			}
			m := found[path]
			if m == nil {
				m = &Module{Path: path}
				if p.Module != nil {
					m.Version, m.Sum = p.Module.Version, p.Module.Sum
				}
				found[path], folders[path] = m, map[string]bool{}
			}
			if !slices.Contains(m.targets, t) {
				m.targets = append(m.targets, t)
			}
			for d := p.Dir; dir != ""; d = filepath.Dir(d) {
				folders[path][d] = true
				if d == dir || len(d) <= len(dir) {
					folders[path][dir], folders[path][filepath.Join(dir, "licenses")] = true, true
					break
				}
			}
		}); err != nil {
			return nil, err
		}
	}
	goroot, err := targets[0].command(root, "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	where, version, _ := strings.Cut(strings.TrimSpace(string(goroot)), "\n")
	found["std"].Version = version
	folders["std"] = map[string]bool{where: true}
	var list []Module
	for path, m := range found {
		for dir := range folders[path] {
			if err := m.read(dir); err != nil {
				return nil, err
			}
		}
		if err := m.settle(); err != nil {
			return nil, err
		}
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// listed is a package in the output of go list.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir, Sum string
		Main                    bool
	}
}

func (t Target) packages(root string, each func(listed)) error {
	cmd := t.command(root, "list", "-deps", "-json=Dir,Standard,Module", "./cmd/robocache")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w\n%s", t, err, stderr.Bytes())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go list for %s: %w", t, err)
		}
		each(p)
	}
}

// read adds the licences in a folder, if the folder exists. In a folder called licenses, every file is a licence.
func (m *Module) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	all := filepath.Base(dir) == "licenses"
	for _, e := range entries {
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) == ".go" || !all && !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(filepath.Join(dir, e.Name()))
		if _, below, ok := strings.Cut(name, "@"+m.Version+"/"); ok { // module folders in Go's cache end in the version
			name = below
		} else {
			name = e.Name()
		}
		m.texts = append(m.texts, notice{name, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))})
	}
	return nil
}

// settle sorts the licences and determines their identifiers.
func (m *Module) settle() error {
	slices.SortFunc(m.texts, func(a, b notice) int { return strings.Compare(a.name, b.name) })
	for _, n := range m.texts {
		if id := identify(n.text); id != "" && !slices.Contains(m.Licences, id) {
			m.Licences = append(m.Licences, id)
		}
	}
	if len(m.Licences) == 0 {
		return fmt.Errorf("module %s %s has no licence that is known, in %d files: it may not be in a release", m.Path, m.Version, len(m.texts))
	}
	slices.Sort(m.Licences)
	return nil
}

// identify returns the SPDX identifier for a licence text, found by characteristic phrases, or "" for other texts.
func identify(text string) string {
	flat := strings.Join(strings.Fields(text), " ")
	has := func(words string) bool { return strings.Contains(flat, words) }
	switch {
	case has("SIL OPEN FONT LICENSE Version 1.1"):
		return "OFL-1.1"
	case has("Apache License Version 2.0"):
		return "Apache-2.0"
	case has("The FreeType Project LICENSE"):
		return "FTL"
	case has("Permission is hereby granted, free of charge"):
		return "MIT"
	case has("Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted"):
		return "ISC"
	case has("Redistribution and use in source and binary forms"):
		if has("Neither the name") || has("may not be used to endorse") {
			return "BSD-3-Clause"
		}
		return "BSD-2-Clause"
	case has("Creative Commons Attribution 4.0 International"):
		return "CC-BY-4.0"
	case has("This is free and unencumbered software released into the public domain"):
		return "Unlicense"
	}
	return ""
}

// Notices returns the text for THIRD_PARTY_LICENSES: the full licences of all modules.
func Notices(modules []Module) []byte {
	var b bytes.Buffer
	b.WriteString("robocache is under the Apache License 2.0, in the file LICENSE. Its binaries hold code of these modules as well:\n\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "  %s %s: %s", m.Path, m.Version, strings.Join(m.Licences, ", "))
		if len(m.targets) < len(Targets) {
			fmt.Fprintf(&b, " (only in those for %s)", strings.Join(names(m.targets), ", "))
		}
		b.WriteByte('\n')
	}
	for _, m := range modules {
		for _, n := range m.texts {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n%s\n\n%s\n", strings.Repeat("=", 80), m.Path, m.Version, n.name, strings.Repeat("=", 80), n.text)
		}
	}
	return b.Bytes()
}

func names(targets []Target) []string {
	var list []string
	for _, t := range targets {
		list = append(list, string(t))
	}
	return list
}

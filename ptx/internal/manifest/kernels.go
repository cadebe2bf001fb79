package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readUnits reads the named sources in a folder.
func readUnits(dir string, names []string) (map[string]*unit, error) {
	units := map[string]*unit{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if units[name], err = lex(name, data); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// sourcesOf returns a source, followed by the headers that it includes directly or indirectly, sorted by name.
func sourcesOf(units map[string]*unit, name string) ([]string, error) {
	found := []string{name}
	for i := 0; i < len(found); i++ {
		u := units[found[i]]
		names, err := u.includes()
		if err != nil {
			return nil, err
		}
		for _, h := range names {
			if units[h] == nil || filepath.Ext(h) != ".cuh" {
				return nil, fmt.Errorf("%s includes %q, which is no header of this folder", u.file, h)
			}
			if !slices.Contains(found, h) {
				found = append(found, h)
			}
		}
	}
	slices.Sort(found[1:])
	return found, nil
}

// goNames returns the hand-written Go declarations in a folder's package, with their positions.
func goNames(dir string) (map[string]string, error) {
	names := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		base := filepath.Base(path)
		if base == interfaceFile || strings.HasSuffix(base, "_test.go") {
			continue
		}
		set := gotoken.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		add := func(id *ast.Ident) { names[id.Name] = fmt.Sprintf("%s:%d", base, set.Position(id.Pos()).Line) }
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name)
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	return names, nil
}

// kernelDecl is a kernel with parameters. If it is in a macro, its name may be a macro parameter.
type kernelDecl struct {
	name, param string // type of the only parameter, or ""
	line        int
	u           *unit
}

// kernelsOf returns the kernels with parameters in a source, including those in macros.
func kernelsOf(u *unit) ([]kernelDecl, error) {
	var list []kernelDecl
	words := []token{}
	for _, t := range u.tokens {
		if t.kind != directive {
			words = append(words, t)
			continue
		}
		if strings.HasPrefix(t.text, "define") {
			in, err := lex(u.file, []byte(t.text))
			if err != nil {
				return nil, err
			}
			for _, w := range in.tokens {
				w.line = t.line
				words = append(words, w)
			}
		}
	}
	r := &reader{u: &unit{file: u.file, tokens: words}}
	for ; r.at < len(words); r.at++ {
		if t := words[r.at]; t.kind != ident || t.text != "RC_KERNEL" && t.text != "RC_KERNEL_OCC" {
			continue
		}
		at := *r
		at.at++
		if !at.accept("(") {
			continue
		}
		if _, err := at.until(")"); err != nil {
			continue
		}
		at.at++
		k := kernelDecl{line: words[r.at].line, u: u}
		for n := at.peek(0); n.kind == ident || n.text == "##"; n = at.peek(0) {
			k.name += n.text
			at.at++
		}
		if !at.accept("(") || at.accept(")") {
			continue
		}
		if at.accept("const") && at.peek(0).kind == ident && at.peek(1).kind == ident && at.peek(2).text == ")" {
			k.param = at.peek(0).text
		}
		list = append(list, k)
	}
	return list, nil
}

// checkKernels compares each kernel's RC_HOST parameter with the PTX. Only the compiler knows the names of kernels from macros. For
// these, some entry in the family must take the struct, and no entry may take a struct with another size.
func checkKernels(families []family, units map[string]*unit, s *surface) error {
	for _, f := range families {
		var kernels []kernelDecl
		for _, src := range f.sources {
			list, err := kernelsOf(units[src.name])
			if err != nil {
				return err
			}
			kernels = append(kernels, list...)
		}
		sizes := map[string]int{} // of entries with a struct as the only parameter
		for _, e := range f.entries {
			if len(e.Params) == 1 && e.Params[0].Type == "b8" {
				sizes[e.Name] = e.Params[0].Size
			}
		}
		known, all := map[int]bool{}, true
		for _, k := range kernels {
			d, ok := s.structs[k.param]
			if !ok {
				all = false
				continue
			}
			want := d.layout.size
			known[want] = true
			if got, ok := sizes[k.name]; ok && got != want {
				return k.u.errorf(k.line, "%s takes %s of %d bytes, and in the PTX %d", k.name, k.param, want, got)
			} else if !ok && !slices.Contains(slices.Collect(maps.Values(sizes)), want) {
				return k.u.errorf(k.line, "%s takes %s of %d bytes, and no entry of %s does in the PTX", k.name, k.param, want, f.name)
			}
		}
		for name, n := range sizes {
			if all && len(kernels) > 0 && !known[n] {
				return fmt.Errorf("%s: entry %s takes %d bytes, as no RC_HOST struct of its kernels has", f.name, name, n)
			}
		}
	}
	return nil
}

package robocache_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesPointOneWay(t *testing.T) {
	for dir, order := range layers {
		layer := map[string]int{}
		for i, names := range order {
			for _, name := range strings.Fields(names) {
				layer[name+".go"] = i
			}
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, f := range goFiles(t) {
			if name := path.Base(f.name); f.dir == dir && !f.test {
				_, ok := layer[name]
				assert.True(t, ok, "%s: arch_test.go says no layer for it", f.name)
				parsed, err := parser.ParseFile(fset, f.name, nil, parser.SkipObjectResolution)
				require.NoError(t, err)
				files = append(files, parsed)
			}
		}
		// What other packages declare does not matter here, so they are not loaded, and errors about them are passed over.
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		config := types.Config{Importer: noPackages{}, Error: func(error) {}}
		pkg, _ := config.Check(dir, fset, files, info)
		checked := 0
		for id, o := range info.Uses {
			if !isDeclared(o, pkg) {
				continue
			}
			from, to := fset.Position(id.Pos()), fset.Position(o.Pos())
			assert.LessOrEqual(t, layer[path.Base(to.Filename)], layer[path.Base(from.Filename)], "%v names %s of %s, which is above it", from, id.Name, to.Filename)
			checked++
		}
		assert.Greater(t, checked, 100, "names that were looked at in %s", dir)
	}
}

// isDeclared reports whether o is declared by a package, and not within a function: also a method, or a field of a type.
func isDeclared(o types.Object, pkg *types.Package) bool {
	if o.Pkg() != pkg {
		return false
	}
	if v, ok := o.(*types.Var); ok && v.IsField() {
		return true
	}
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return o.Parent() == pkg.Scope()
}

type noPackages struct{}

func (noPackages) Import(path string) (*types.Package, error) { return nil, errors.New("not loaded") }

package robocache_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

const modulePath = "github.com/robocache/robocache"

// goFile is a parsed file of the tree. Every one is looked at, whatever system it is built for.
type goFile struct {
	name string // with forward slashes, from the root
	dir  string
	test bool
	fset *token.FileSet
	ast  *ast.File
}

// treeFiles returns the names of the tree's files, from the root, without what git ignores by .gitignore.
func treeFiles(t *testing.T) []string {
	var names []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			ours := slices.Contains([]string{".", ".ci", ".clusterfuzzlite", ".github"}, name) // other folders with a dot are caches and settings of tools
			hidden := strings.HasPrefix(d.Name(), ".") && !ours
			if hidden || name == "build" || name == "dist" || d.Name() == "testdata" || d.Name() == "__pycache__" {
				return filepath.SkipDir
			}
			return nil
		}
		names = append(names, filepath.ToSlash(name))
		return nil
	})
	require.NoError(t, err)
	return names
}

var (
	parsedOnce sync.Once
	parsed     []*goFile
)

// goFiles returns every Go file of the tree.
func goFiles(t *testing.T) []*goFile {
	parsedOnce.Do(func() {
		for _, name := range treeFiles(t) {
			if path.Ext(name) == ".go" {
				text := filetest.Read(t, filepath.FromSlash(name))
				parsed = append(parsed, parse(t, name, text))
			}
		}
	})
	require.Greater(t, len(parsed), 20, "Go files found")
	return parsed
}

func parse(t *testing.T, name string, text []byte) *goFile {
	f := &goFile{name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), fset: token.NewFileSet()}
	var err error
	f.ast, err = parser.ParseFile(f.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	return f
}

func (f *goFile) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

func (f *goFile) line(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

// unsafeWithoutReason returns the lines that use package unsafe with no SAFETY comment directly above them or above the
// statement that they are in. Sizes and offsets are constants and need none.
func (f *goFile) unsafeWithoutReason() []int {
	reasons := map[int]bool{} // lines below a SAFETY comment
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "// SAFETY: ") {
				reasons[f.fset.Position(group.End()).Line+1] = true
			}
		}
	}
	var bad []int
	var stack []ast.Node
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok || pkg.Name != "unsafe" || slices.Contains([]string{"Sizeof", "Offsetof", "Alignof"}, sel.Sel.Name) {
			return true
		}
		line := f.line(sel)
		if !reasons[line] && !reasons[f.line(enclosing(stack))] && !slices.Contains(bad, line) {
			bad = append(bad, line)
		}
		return true
	})
	return bad
}

func TestUnsafeWithoutReasonIsFound(t *testing.T) {
	src := `package p
import "unsafe"
var n = unsafe.Sizeof(0)
func f(x *int) uintptr {
	// SAFETY: x is alive.
	// It stays where it is.
	a := uintptr(unsafe.Pointer(x))
	b := uintptr(unsafe.Pointer(x))
	// Of use.
	c := uintptr(unsafe.Pointer(x))
	// SAFETY: as above.
	return a + b + c + g(
		uintptr(unsafe.Pointer(x)))
}
`
	f := parse(t, "p.go", []byte(src))
	assert.Equal(t, []int{8, 10}, f.unsafeWithoutReason())
}

// enclosing returns the innermost statement, declaration or field around the last node of stack.
func enclosing(stack []ast.Node) ast.Node {
	for i := len(stack) - 1; i > 0; i-- {
		switch stack[i].(type) {
		case *ast.BlockStmt:
		case ast.Stmt, ast.Spec, ast.Decl, *ast.Field:
			return stack[i]
		}
	}
	return stack[0]
}

// isTesting reports whether an expression is called as tests call their testing.T, B, F or TB.
func (f *goFile) isTesting(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && slices.Contains([]string{"t", "b", "f", "tb"}, id.Name) && slices.Contains(f.imports(), "testing")
}

// literals joins the string literals in the arguments of a call.
func literals(args []ast.Expr) string {
	var all []string
	for _, a := range args {
		ast.Inspect(a, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					all = append(all, s)
				}
			}
			return true
		})
	}
	return strings.Join(all, " ")
}

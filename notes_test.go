package robocache_test

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// noteEdges are the only packages that turn notes into sentences.
var noteEdges = []string{"cmd", "examples", "view", "doctor/page", "internal/inspection", "internal/serve", "internal/test", "dataset/notetext"}

func TestOnlyEdgesHaveTheSentencesOfNotes(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, imported := range f.imports() {
			if imported != modulePath+"/dataset/notetext" {
				continue
			}
			edge := false
			for _, dir := range noteEdges {
				edge = edge || f.dir == dir || strings.HasPrefix(f.dir, dir+"/")
			}
			assert.True(t, edge, "%s imports dataset/notetext: only %v make text of notes", f.name, noteEdges)
		}
	}
}

// A code has the class of its file, a comment with an example, a sentence, and a test that provokes it: the test names the code, and is of a package
// that adds such notes, of one that imports that package, or of the folder of a format above. A test of doctor, of a page or of a summary, which gets notes
// from elsewhere, does not count.
func TestEachCodeHasACommentASentenceAndATest(t *testing.T) {
	comments, values := map[string]string{}, map[string]string{} // of constants by their names, and names by values
	sources := map[string][]string{}                             // folders that add notes of a code
	tests := map[string][]string{}                               // folders with tests that name it
	sentences, imports := map[string][]string{}, map[string][]string{}
	for _, f := range goFiles(t) {
		if !f.test {
			imports[f.dir] = append(imports[f.dir], f.imports()...)
		}
		if f.dir == "dataset" && strings.HasPrefix(path.Base(f.name), "code_") {
			class := strings.TrimSuffix(strings.TrimPrefix(path.Base(f.name), "code_"), ".go")
			for _, d := range f.ast.Decls {
				for _, spec := range d.(*ast.GenDecl).Specs {
					v := spec.(*ast.ValueSpec)
					name, value := v.Names[0].Name, literals(v.Values)
					assert.Equal(t, class, strings.ToLower(v.Values[0].(*ast.BinaryExpr).X.(*ast.Ident).Name), "the class of dataset.%s", name)
					assert.Empty(t, values[value], "dataset.%s has the same name", name)
					comments[name], values[value] = v.Doc.Text(), name
				}
			}
			continue
		}
		to := sources
		switch {
		case f.test:
			to = tests
		case f.dir == "dataset/notetext":
			to = sentences
		}
		for name := range codesIn(f, !f.test && f.dir != "dataset/notetext") {
			to[name] = append(to[name], f.dir)
		}
	}
	for name, comment := range comments {
		assert.Contains(t, comment, "Example:", "the comment of dataset.%s has no example", name)
		assert.True(t, strings.HasPrefix(comment, name+": "), "the comment of dataset.%s does not begin with its name and a colon", name)
		assert.NotEmpty(t, sentences[name], "dataset.%s has no sentence in dataset/notetext", name)
		assert.NotEmpty(t, sources[name], "nothing adds a note of dataset.%s", name)
		assert.True(t, slices.ContainsFunc(sources[name], func(source string) bool {
			return slices.ContainsFunc(tests[name], func(dir string) bool {
				return dir == source || dir != "dataset" && strings.HasPrefix(source, dir+"/") || slices.Contains(imports[dir], modulePath+"/"+source)
			})
		}), "no test of %v, or of a package that imports one of them, provokes dataset.%s; tests of %v name it", sources[name], name, tests[name])
	}
}

// codesIn returns the names in a file that begin with Code. If added is set, it leaves out codes that notes are compared with or looked up by.
func codesIn(f *goFile, added bool) map[string]bool {
	names, compared := map[string]bool{}, map[ast.Node]bool{}
	compare := func(list ...ast.Expr) {
		for _, e := range list {
			if s, ok := e.(*ast.SelectorExpr); ok {
				compared[s.Sel] = added
			}
			compared[e] = added
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			compare(n.List...)
		case *ast.KeyValueExpr:
			compare(n.Key)
		case *ast.BinaryExpr:
			compare(n.X, n.Y)
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Find" {
				compare(n.Args...)
			}
		case *ast.Ident:
			if strings.HasPrefix(n.Name, "Code") && !compared[n] {
				names[n.Name] = true
			}
		}
		return true
	})
	return names
}

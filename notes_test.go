package robocache_test

import (
	"go/ast"
	"maps"
	"path"
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

// mostCodes is the number of codes that the tests of a file may name, because a table of all codes provokes none of them.
const mostCodes = 60

// A code has the class of its file, a comment with an example, a sentence, and a test of a package that adds it.
func TestEachCodeHasACommentASentenceAndATest(t *testing.T) {
	comments := map[string]string{} // of constants by their names
	values := map[string]string{}
	sentences, tested := map[string]bool{}, map[string]bool{}
	mark := func(marked map[string]bool, f *goFile) {
		named := map[string]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && comments[id.Name] != "" {
				named[id.Name] = true
			}
			return true
		})
		if f.test && len(named) > mostCodes {
			return
		}
		maps.Copy(marked, named)
	}
	isTable := func(f *goFile) bool { return f.dir == "dataset" && strings.HasPrefix(path.Base(f.name), "code_") }
	for _, f := range goFiles(t) {
		if !isTable(f) {
			continue
		}
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
	}
	own := map[string]bool{} // codes that package dataset adds
	for _, f := range goFiles(t) {
		switch {
		case f.dir == "dataset" && !f.test && !isTable(f):
			mark(own, f)
		case f.dir == "dataset/notetext" && !f.test:
			mark(sentences, f)
		}
	}
	for _, f := range goFiles(t) {
		if f.test && f.dir == "dataset" {
			inside := map[string]bool{}
			mark(inside, f)
			for name := range inside {
				tested[name] = tested[name] || own[name]
			}
		} else if f.test && f.dir != "dataset/notetext" {
			mark(tested, f)
		}
	}
	for name, comment := range comments {
		assert.Contains(t, comment, "Example:", "the comment of dataset.%s has no example", name)
		assert.True(t, strings.HasPrefix(comment, name+": "), "the comment of dataset.%s does not begin with its name and a colon", name)
		assert.True(t, sentences[name], "dataset.%s has no sentence in dataset/notetext", name)
		assert.True(t, tested[name], "no test provokes dataset.%s", name)
	}
}

package robocache_test

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
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

// A code has a comment with an example, one class, and a test that provokes it.
func TestEachCodeHasACommentAndATest(t *testing.T) {
	comments := map[string]string{} // of constants by their names
	values := map[string]dataset.Code{}
	tested := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.dir == "dataset" && !f.test && strings.HasPrefix(path.Base(f.name), "code_") {
			for name, c := range codesOf(f.ast) {
				comments[name], values[name] = c.comment, dataset.Code(c.value)
			}
		}
	}
	for _, f := range goFiles(t) {
		if f.test && f.dir != "dataset/notetext" {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && comments[id.Name] != "" {
					tested[id.Name] = true
				}
				return true
			})
		}
	}
	for name, comment := range comments {
		assert.Contains(t, comment, "Example:", "the comment of dataset.%s has no example", name)
		assert.True(t, strings.HasPrefix(comment, name+": "), "the comment of dataset.%s does not begin with its name and a colon", name)
		assert.NotEqual(t, dataset.ClassNone, values[name].Class(), "dataset.%s is in no list of codes", name)
		assert.True(t, tested[name], "no test provokes dataset.%s", name)
	}
	assert.Len(t, dataset.Codes(), len(comments), "codes, and constants of type Code in dataset/code_*.go")
}

type codeConstant struct{ comment, value string }

// codesOf returns the constants of type Code that a file declares.
func codesOf(file *ast.File) map[string]codeConstant {
	found := map[string]codeConstant{}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, spec := range decl.Specs {
			v := spec.(*ast.ValueSpec)
			if id, ok := v.Type.(*ast.Ident); !ok || id.Name != "Code" {
				continue
			}
			for i, name := range v.Names {
				found[name.Name] = codeConstant{v.Doc.Text(), strings.Trim(literals(v.Values[i:i+1]), "\"")}
			}
		}
	}
	return found
}

package robocache_test

import (
	"path"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/ptx"
)

var (
	quoted    = regexp.MustCompile("`([^`\n]+)`")
	firstWord = regexp.MustCompile(`^[a-z0-9]+`)
	snakeCase = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
)

// docs/kernels.md names every kernel of the manifest, and no kernel or file that is not there.
func TestKernelMapNamesEveryKernel(t *testing.T) {
	text := filetest.Read(t, filepath.Join("docs", "kernels.md"))
	kernels, named, begins := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, family := range ptx.Families() {
		for _, e := range ptx.Images(family)[0].Entries {
			kernels[e.Name], begins[firstWord.FindString(e.Name)] = true, true
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		switch path.Ext(name) {
		case ".cu", ".cuh":
			assert.FileExists(t, filepath.Join("ptx", name))
		case ".go", ".md":
			assert.FileExists(t, filepath.FromSlash(name))
		case "":
			if named[name] = true; snakeCase.MatchString(name) && begins[firstWord.FindString(name)] {
				assert.True(t, kernels[name], "the map names %s, which is no kernel", name)
			}
		}
	}
	for name := range kernels {
		assert.True(t, named[name], "the map does not name %s", name)
	}
}

package release

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

func TestABillSaysWhatEachFileHolds(t *testing.T) {
	modules := []Module{
		{Path: "git.sr.ht/~sbinet/gg", Version: "v0.7.0", Sum: "h1:YmNf7YKd7diDMTPm86hZa1EM3pbkOyD/zzjl0LZUdNM=", Licences: []string{"MIT"}, targets: Targets},
		{Path: "github.com/Some/only-Windows", Version: "v1.1.0", Licences: []string{"Apache-2.0", "MIT"}, targets: []Target{"windows/amd64"}},
		{Path: "std", Version: "go1.26.8", Licences: []string{"BSD-3-Clause"}, targets: Targets},
	}
	files := []File{{"a.tar.gz", "00ff", "linux/amd64"}, {"b.tar.gz", "11ff", "windows/amd64"}}
	text, err := BOM("0.5.0", modules, files)
	require.NoError(t, err)
	again, err := BOM("0.5.0", modules, files)
	require.NoError(t, err)
	assert.Equal(t, text, again)
	var bom struct {
		BOMFormat, SpecVersion string
		Components             []struct {
			Name, PURL string
			Ref        string                                  `json:"bom-ref"`
			Hashes     []struct{ Alg, Content string }         `json:"hashes"`
			Licenses   []struct{ License struct{ ID string } } `json:"licenses"`
		}
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	require.NoError(t, json.Unmarshal(text, &bom))
	assert.Equal(t, "CycloneDX 1.6", bom.BOMFormat+" "+bom.SpecVersion)
	refs := map[string]bool{"robocache": true}
	for _, c := range bom.Components {
		assert.False(t, refs[c.Ref], "%s twice", c.Ref)
		refs[c.Ref] = true
	}
	depends := map[string][]string{}
	for _, d := range bom.Dependencies {
		depends[d.Ref] = d.DependsOn
		for _, ref := range append(d.DependsOn, d.Ref) {
			assert.True(t, refs[ref], "%s is no component", ref)
		}
	}
	gg, std := "pkg:golang/git.sr.ht/%7Esbinet/gg@v0.7.0", "pkg:golang/std@1.26.8"
	assert.Equal(t, []string{gg, std}, depends["file:a.tar.gz"])
	assert.Equal(t, []string{gg, "pkg:golang/github.com/some/only-windows@v1.1.0", std}, depends["file:b.tar.gz"])
	c := bom.Components[2]
	assert.Equal(t, gg, c.PURL)
	assert.Equal(t, "62635fed829dedd8833133e6f3a8596b510cde96e43b20ffcf38e5d0b65474d3", c.Hashes[0].Content)
	assert.Equal(t, "MIT", c.Licenses[0].License.ID)
	assert.Equal(t, "00ff", bom.Components[0].Hashes[0].Content)
}

func TestAModuleWithoutALicenceIsRefused(t *testing.T) {
	dir := t.TempDir()
	m := Module{Path: "example.com/m", Version: "v1.0.0"}
	filetest.Write(t, filepath.Join(dir, "NOTICE"), "Made by nobody.")
	filetest.Write(t, filepath.Join(dir, "license.go"), "package m // Permission is hereby granted, free of charge")
	require.NoError(t, m.read(dir))
	assert.ErrorContains(t, m.settle(), "example.com/m v1.0.0 has no licence that is known")
	filetest.Write(t, filepath.Join(dir, "COPYING.txt"), "GNU GENERAL PUBLIC LICENSE\nVersion 2, June 1991")
	require.NoError(t, m.read(dir))
	assert.Error(t, m.settle(), "one that does not go with this project's")
	filetest.Write(t, filepath.Join(dir, "LICENSE-MIT"), "Permission is hereby\r\ngranted, free of charge,")
	m.texts = nil
	require.NoError(t, m.read(dir))
	require.NoError(t, m.settle())
	assert.Equal(t, []string{"MIT"}, m.Licences)
	m.targets = []Target{"linux/arm64"}
	text := string(Notices([]Module{m}))
	for _, words := range []string{"  example.com/m v1.0.0: MIT (only in those for linux/arm64)\n", "example.com/m v1.0.0: LICENSE-MIT\n", "Permission is hereby\ngranted", "Made by nobody."} {
		assert.Contains(t, text, words)
	}
}

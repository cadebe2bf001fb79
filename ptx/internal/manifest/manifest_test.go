package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

const kernels = "../.."

func text(sm, isa, params string) string {
	return ".version " + isa + "\n.target " + sm + "\n.visible .entry k(" + params + ")\n{ ret; }\n"
}

func packed(text string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

// makeFolder makes a small good folder, with a change.
func makeFolder(t *testing.T, change func(files map[string]string)) string {
	files := map[string]string{
		"common.cuh":  "// nothing\n",
		"k.cu":        "// a kernel\n#include \"common.cuh\"\n",
		"k.sm_90.ptx": text("sm_90", "7.8", ".param .u64 a"),
		"k.sm_80.ptx": text("sm_80", "7.4", ".param .u64 a"),
	}
	change(files)
	dir := t.TempDir()
	for name, data := range files {
		if strings.HasSuffix(name, ".ptx") || strings.HasSuffix(name, ".cubin") && len(data) <= mostPacked {
			name, data = name+".gz", packed(data)
		}
		filetest.Write(t, filepath.Join(dir, name), data)
	}
	return dir
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func TestCheckedInManifestIsWhatTheFilesSay(t *testing.T) {
	var stderr bytes.Buffer
	assert.Equal(t, 0, run([]string{"-dir", kernels, "-check"}, &stderr), stderr.String())
}

func TestTableOfSizesIsTrue(t *testing.T) {
	var stderr bytes.Buffer
	assert.Equal(t, 0, run([]string{"-dir", kernels, "-sizes", "../../../CONTRIBUTING.md", "-check"}, &stderr), stderr.String())
}

func TestTableOfSizesIsWrittenWhereItIsFarOff(t *testing.T) {
	cubin := strings.Repeat("x", mostPacked+1)
	dir := makeFolder(t, func(f map[string]string) {
		f["k.sm_90.cubin"] = cubin
		f["k.sm_90.cubin.sha256"] = hash("") + "  k.sm_90.ptx\n# ptxas 12.8\n"
	})
	file := filepath.Join(dir, "page.md")
	const head = "above\n" + sizesBegin + "| family | kernels | cubin | PTX for sm_90 | PTX for sm_80 | together |\n|---|---:|---:|---:|---:|---:|\n"
	page := func(row string) string {
		return head + "| k |" + row + "\n| together |" + row + "\n" + sizesEnd + "below\n"
	}
	right := page(" 1 | 279 | 0 | 0 | 279 |")
	for _, c := range []struct{ was, is string }{
		{page(" 1 | 300 | 2 | 0 | 260 |"), page(" 1 | 300 | 2 | 0 | 260 |")},
		{page(" 1 | 320 | 0 | 0 | 279 |"), right},
		{page(" 1 | 279 | 3 | 0 | 279 |"), right},
		{page(" 2 | 279 | 0 | 0 | 279 |"), right},
		{page(" 1 | 279 | 0 | 0 |"), right},
		{"above\n" + sizesBegin + sizesEnd + "below\n", right},
	} {
		filetest.Write(t, file, c.was)
		assert.Equal(t, c.was == c.is, updateSizes(dir, file, true) == nil, c.was)
		require.NoError(t, updateSizes(dir, file, false))
		got := filetest.Read(t, file)
		assert.Equal(t, c.is, string(got))
	}
	filetest.Write(t, file, "no table\n")
	assert.ErrorContains(t, updateSizes(dir, file, false), "page.md has no lines")
}

func TestCheckNamesTheLineThatIsOutOfDateAndWritesNothing(t *testing.T) {
	dir := makeFolder(t, func(map[string]string) {})
	var stderr bytes.Buffer
	require.Equal(t, 0, run([]string{"-dir", dir}, &stderr), stderr.String())
	require.Equal(t, 0, run([]string{"-dir", dir, "-check"}, &stderr), stderr.String())
	before := filetest.Read(t, filepath.Join(dir, outFile))

	const another = "#include \"common.cuh\"\n"
	filetest.Write(t, filepath.Join(dir, "k.cu"), another)
	assert.Equal(t, 1, run([]string{"-dir", dir, "-check"}, &stderr))
	assert.Contains(t, stderr.String(), outFile+":")
	assert.Contains(t, stderr.String(), hash(another))
	after := filetest.Read(t, filepath.Join(dir, outFile))
	assert.Equal(t, before, after)
}

func TestCubinCarriesTheHashOfItsPTXAndTheReleaseOfItsTool(t *testing.T) {
	ptx := text("sm_90", "7.8", ".param .u64 a")
	dir := makeFolder(t, func(f map[string]string) {
		f["k.sm_90.cubin"] = "\x7fELF"
		f["k.sm_90.cubin.sha256"] = hash(ptx) + "  k.sm_90.ptx\n# ptxas 12.8\n"
	})
	all, err := readFolder(dir)
	require.NoError(t, err)
	require.Len(t, all.families, 1)
	images := all.families[0].images
	require.Len(t, images, 3)
	cubin, stored := file{"k.sm_90.cubin", hash("\x7fELF")}, file{"k.sm_90.cubin.gz", hash(packed("\x7fELF"))}
	assert.Equal(t, image{cubin, stored, "Cubin", 90, 78, hash(ptx), 12080}, images[0])
	assert.Equal(t, []string{"k.sm_90.ptx", "k.sm_80.ptx"}, []string{images[1].name, images[2].name})
	assert.Equal(t, file{"k.sm_90.ptx.gz", hash(packed(ptx))}, images[1].stored)
	assert.Equal(t, hash(ptx), images[1].hash)
}

func TestLargeCubinLiesAsItIs(t *testing.T) {
	large := strings.Repeat("x", mostPacked+1)
	dir := makeFolder(t, func(f map[string]string) {
		f["k.sm_90.cubin"] = large
		f["k.sm_90.cubin.sha256"] = hash("") + "  k.sm_90.ptx\n# ptxas 12.8\n"
	})
	all, err := readFolder(dir)
	require.NoError(t, err)
	cubin := file{"k.sm_90.cubin", hash(large)}
	assert.Equal(t, image{cubin, cubin, "Cubin", 90, 78, hash(""), 12080}, all.families[0].images[0])

	filetest.Write(t, filepath.Join(dir, "k.sm_90.cubin.gz"), packed(large))
	_, err = readFolder(dir)
	assert.ErrorContains(t, err, "k.sm_90.cubin is there compressed too")
	require.NoError(t, os.Remove(filepath.Join(dir, "k.sm_90.cubin")))
	_, err = readFolder(dir)
	assert.ErrorContains(t, err, "k.sm_90.cubin.gz has 278529 bytes")
	require.NoError(t, os.Remove(filepath.Join(dir, "k.sm_90.cubin.gz")))
	filetest.Write(t, filepath.Join(dir, "k.sm_90.cubin"), "small")
	_, err = readFolder(dir)
	assert.ErrorContains(t, err, "k.sm_90.cubin has 5 bytes")
}

func TestReleaseNeedsTheCubinOfEveryFamily(t *testing.T) {
	ptx := text("sm_90", "7.8", ".param .u64 a")
	cubin := func(of string) func(map[string]string) {
		return func(f map[string]string) {
			f["k.sm_90.cubin"] = "\x7fELF"
			f["k.sm_90.cubin.sha256"] = hash(of) + "  k.sm_90.ptx\n# ptxas 12.8\n"
		}
	}
	for _, c := range []struct {
		change func(map[string]string)
		says   string
	}{
		{cubin(ptx), ""},
		{cubin("other"), "k.sm_90.cubin is stale: it was not made from k.sm_90.ptx"},
		{func(map[string]string) {}, "k has no cubin"},
	} {
		var stderr strings.Builder
		dir := makeFolder(t, c.change)
		require.Equal(t, 0, run([]string{"-dir", dir}, &stderr), stderr.String()) // which minds neither
		code := run([]string{"-dir", dir, "-release"}, &stderr)
		assert.Equal(t, c.says != "", code == 1)
		assert.Contains(t, stderr.String(), c.says)
	}
}

func TestFolderWhoseFilesDoNotBelongTogetherIsRefused(t *testing.T) {
	cubin := func(side string) func(map[string]string) {
		return func(f map[string]string) {
			f["k.sm_90.cubin"] = "\x7fELF"
			if side != "" {
				f["k.sm_90.cubin.sha256"] = side
			}
		}
	}
	set := func(name, data string) func(map[string]string) {
		return func(f map[string]string) { f[name] = data }
	}
	cases := []struct {
		name   string
		change func(map[string]string)
		says   string
	}{
		{"no source", func(f map[string]string) { clear(f) }, "no .cu file"},
		{"no PTX", func(f map[string]string) { delete(f, "k.sm_80.ptx") }, "k.sm_80.ptx"},
		{"PTX without source", set("other.sm_90.ptx", ""), "other.sm_90.ptx.gz belongs to no source"},
		{"PTX of another architecture", set("k.sm_86.ptx", ""), "k.sm_86.ptx.gz belongs to no source, or to no architecture"},
		{"wrong target", set("k.sm_80.ptx", text("sm_90", "7.4", ".param .u64 a")), "target sm_80"},
		{"target with a suffix", set("k.sm_90.ptx", text("sm_90a", "7.8", ".param .u64 a")), "got sm_90a"},
		{"newer version", set("k.sm_90.ptx", text("sm_90", "8.0", ".param .u64 a")), "got sm_90 and 8.0"},
		{"other parameters", set("k.sm_80.ptx", text("sm_80", "7.4", ".param .u32 a")), "k.sm_80.ptx: no entries, or others"},
		{"PTX that is not compressed", func(f map[string]string) {
			delete(f, "k.sm_90.ptx")
			f["k.sm_90.ptx.gz"] = "plain"
		}, "k.sm_90.ptx.gz: "},
		{"broken PTX", set("k.sm_90.ptx", ".version"), "k.sm_90.ptx: ptx: line 1"},
		{"odd name", set("K-1.cu", ""), "K-1.cu"},
		{"cubin without origin", cubin(""), "k.sm_90.cubin.sha256"},
		{"origin without cubin", set("k.sm_90.cubin.sha256", ""), "lost its cubin"},
		{"origin without release", cubin(hash("") + "  k.sm_90.ptx\n"), "# ptxas 13.0"},
		{"origin of another file", cubin(hash("") + "  j.sm_90.ptx\n# ptxas 13.0\n"), "unexpected line"},
		{"odd release", cubin(hash("") + "  k.sm_90.ptx\n# ptxas new\n"), "a release such as 13.0 wanted"},
		{"header that nothing includes", set("alone.cuh", ""), "alone.cuh is included by no family"},
		{"header that is not there", set("k.cu", "#include \"other.cuh\"\n"), `k.cu includes "other.cuh"`},
		{"header of elsewhere", set("k.cu", "#include <math.h>\n"), "k.cu:1: a header of this folder"},
		{"entry in two families", func(f map[string]string) {
			f["j.cu"], f["j.sm_90.ptx"], f["j.sm_80.ptx"] = "", f["k.sm_90.ptx"], f["k.sm_80.ptx"]
		}, "entry k is in j and in k"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := readFolder(makeFolder(t, c.change))
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestWrongUsageIsCodeTwo(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"word"}} {
		assert.Equal(t, 2, run(args, &strings.Builder{}), args)
	}
	assert.Equal(t, 1, run([]string{"-dir", filepath.Join(t.TempDir(), "nothing")}, &strings.Builder{}))
}

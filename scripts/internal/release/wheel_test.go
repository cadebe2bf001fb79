package release

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// tree writes files of these names and returns their folder.
func tree(t *testing.T, files map[string]string) string {
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		filetest.Write(t, path, text)
	}
	return root
}

var small = map[string]string{
	"LICENSE": "the licence", "python/README.md": "# robocache\n", "binary": "the binary",
	"python/robocache/__init__.py": "", "python/robocache/__main__.py": "def main(): pass\n", "python/robocache/_version.py": "__version__ = 'of the tree'\n",
	"python/robocache/py.typed": "", "python/robocache/sub/_part.pyi": "x: int\n",
	"python/robocache/__pycache__/x.pyc": "left by a run", "python/robocache/bin/robocache": "left by a developer", "python/tests/test_x.py": "no part",
}

func smallWheel(root string) Wheel {
	modules := []Module{{Path: "m", Licences: []string{"MIT"}}, {Path: "n", Licences: []string{"Apache-2.0", "BSD-3-Clause"}}}
	return Wheel{Root: root, Version: "0.5.0rc1", Arch: "arm64", Binary: filepath.Join(root, "binary"), Notices: []byte("notices"), Modules: modules}
}

func bytesOf(t *testing.T, w Wheel) []byte {
	var b bytes.Buffer
	require.NoError(t, w.Write(&b))
	return b.Bytes()
}

func TestAWheelIsTheSameBytesFromAnyFolder(t *testing.T) {
	assert.Equal(t, bytesOf(t, smallWheel(tree(t, small))), bytesOf(t, smallWheel(tree(t, small))))
}

func TestAWheelHoldsThePackageAndTheBinary(t *testing.T) {
	w := smallWheel(tree(t, small))
	assert.Equal(t, "robocache-0.5.0rc1-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.whl", w.Name())
	whole := bytesOf(t, w)
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	require.NoError(t, err)
	texts := map[string]string{}
	var order, records []string
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		texts[f.Name] = string(text)
		order = append(order, f.Name)
		mode := os.FileMode(0o644)
		if f.Name == "robocache/bin/robocache" {
			mode = 0o755
		}
		assert.Equal(t, mode, f.Mode(), f.Name)
		assert.Equal(t, epoch, f.Modified.UTC(), f.Name)
		assert.Zero(t, f.Flags&8, "%s: its sizes stand before its data", f.Name)
		sum := sha256.Sum256(text)
		records = append(records, fmt.Sprintf("%s,sha256=%s,%d", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text)))
	}
	info := "robocache-0.5.0rc1.dist-info/"
	assert.Equal(t, []string{
		"robocache/__init__.py", "robocache/__main__.py", "robocache/_version.py", "robocache/bin/robocache", "robocache/py.typed", "robocache/sub/_part.pyi",
		info + "METADATA", info + "WHEEL", info + "entry_points.txt", info + "licenses/LICENSE", info + "licenses/THIRD_PARTY_LICENSES", info + "RECORD",
	}, order)
	records[len(records)-1] = info + "RECORD,,"
	assert.Equal(t, strings.Join(records, "\n")+"\n", texts[info+"RECORD"])
	assert.Contains(t, texts["robocache/_version.py"], "\n__version__ = \"0.5.0rc1\"\n")
	assert.Equal(t, "the binary", texts["robocache/bin/robocache"])
	assert.Equal(t, "Wheel-Version: 1.0\nGenerator: robocache scripts/wheel\nRoot-Is-Purelib: false\n"+
		"Tag: py3-none-manylinux_2_17_aarch64\nTag: py3-none-manylinux2014_aarch64\n", texts[info+"WHEEL"])
	head, body, ok := strings.Cut(texts[info+"METADATA"], "\n\n")
	require.True(t, ok)
	assert.Equal(t, "# robocache\n", body)
	for _, line := range []string{
		"Name: robocache", "Version: 0.5.0rc1", "Requires-Python: >=3.9", "License-Expression: Apache-2.0 AND BSD-3-Clause AND MIT", "Description-Content-Type: text/markdown",
	} {
		assert.Contains(t, head+"\n", "\n"+line+"\n")
	}
	assert.NotContains(t, head, "Requires-Dist")
	assert.Equal(t, "[console_scripts]\nrobocache = robocache.__main__:main\n", texts[info+"entry_points.txt"])
}

func TestAWheelTakesNothingByAccident(t *testing.T) {
	for _, stray := range []string{"notes.txt", "sub/data.npz", "x.so"} {
		root := tree(t, small)
		filetest.Write(t, filepath.Join(root, "python", "robocache", stray), "")
		assert.ErrorContains(t, func() error { w := smallWheel(root); return w.Write(io.Discard) }(), filepath.Base(stray))
	}
	root := tree(t, small)
	require.NoError(t, os.Remove(filepath.Join(root, "python", "robocache", "__main__.py")))
	w := smallWheel(root)
	assert.ErrorContains(t, w.Write(io.Discard), "__main__.py")
}

func TestAWheelThatIsTooLargeIsNotWritten(t *testing.T) {
	root, out := tree(t, small), t.TempDir()
	noise := make([]byte, MaxWheel) // which does not compress
	state := uint64(1)
	for i := range noise {
		state = state*6364136223846793005 + 1442695040888963407
		noise[i] = byte(state >> 56)
	}
	filetest.Write(t, filepath.Join(root, "binary"), noise)
	_, err := WriteWheel(out, smallWheel(root))
	assert.Regexp(t, regexp.MustCompile(`has \d+ bytes, and may have 25000000`), err)
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Empty(t, left)
}

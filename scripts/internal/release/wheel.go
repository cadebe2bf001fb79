package release

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// MaxWheel is the maximum size of a wheel in bytes. A package index accepts 100 MB, but users download it over a lab's network.
const MaxWheel = 25e6

// epoch is the time for every entry: the earliest that zip can store.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Wheel holds the inputs for a wheel besides the Python package in the tree.
type Wheel struct {
	Root    string // the module's folder
	Version string // as returned by Version
	Arch    string // in Go's spelling
	Binary  string // path of the Linux binary for Arch
	Notices []byte // THIRD_PARTY_LICENSES
	Modules []Module
}

// entry is a file in the wheel.
type entry struct {
	name string
	mode fs.FileMode
	data []byte
}

func (w *Wheel) tags() []string {
	machine := platforms[w.Arch].python
	return []string{fmt.Sprintf("manylinux_2_%d_%s", glibcMinor, machine), "manylinux2014_" + machine} // two names for the same platform
}

// Name returns the wheel's file name.
func (w *Wheel) Name() string {
	return "robocache-" + w.Version + "-py3-none-" + strings.Join(w.tags(), ".") + ".whl"
}

// Write writes the wheel in the binary distribution format 1.0: the package python/robocache with its version and the binary, and
// robocache-VERSION.dist-info. The caller compares the size with MaxWheel.
func (w *Wheel) Write(to io.Writer) error {
	list, err := packageFiles(filepath.Join(w.Root, "python", "robocache"))
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(w.Binary)
	if err != nil {
		return err
	}
	list = append(list,
		entry{"robocache/_version.py", 0o644, fmt.Appendf(nil, "\"\"\"The version of this package and of the binary in it.\"\"\"\n\n__version__ = %q\n", w.Version)},
		entry{"robocache/bin/robocache", 0o755, binary})
	info, err := w.info()
	if err != nil {
		return err
	}
	byName := func(a, b entry) int { return strings.Compare(a.name, b.name) }
	slices.SortFunc(list, byName)
	slices.SortFunc(info, byName)
	list = append(list, info...) // after the package, as the format recommends
	list = append(list, entry{w.infoFolder() + "/RECORD", 0o644, record(list, w.infoFolder()+"/RECORD")})
	z := zip.NewWriter(to)
	for _, e := range list {
		if err := write(z, e); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return z.Close()
}

// packageFiles reads the package in dir, without _version.py and files that running it creates. Unknown files are an error, so that
// nothing is published or left out by accident.
func packageFiles(dir string) ([]entry, error) {
	var list []entry
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (d.Name() == "__pycache__" || d.Name() == ".mypy_cache" || rel == "bin"):
			return filepath.SkipDir
		case d.IsDir() || rel == "_version.py":
			return nil
		case !d.Type().IsRegular() || !slices.Contains([]string{".py", ".pyi"}, path.Ext(rel)) && d.Name() != "py.typed":
			return fmt.Errorf("%s: a wheel has only .py, .pyi and py.typed from the tree", name)
		}
		data, err := os.ReadFile(name)
		list = append(list, entry{"robocache/" + rel, 0o644, data})
		return err
	})
	if err == nil && !slices.ContainsFunc(list, func(e entry) bool { return e.name == "robocache/__main__.py" }) {
		err = fmt.Errorf("%s has no __main__.py, which the command robocache runs", dir)
	}
	return list, err
}

func (w *Wheel) infoFolder() string { return "robocache-" + w.Version + ".dist-info" }

// info returns the files in the dist-info folder, except RECORD.
func (w *Wheel) info() ([]entry, error) {
	readme, err := os.ReadFile(filepath.Join(w.Root, "python", "README.md"))
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(w.Root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	meta := fmt.Sprintf(`Metadata-Version: 2.4
Name: robocache
Version: %s
Summary: Recorded robot data on one clock, on the GPU: resample, fuse, voxelize and training batches
Keywords: robotics,robot learning,GPU,CUDA,data loader,PyTorch,JAX
License-Expression: %s
License-File: LICENSE
License-File: THIRD_PARTY_LICENSES
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

%s`, w.Version, strings.Join(licences(w.Modules), " AND "), readme)
	wheel := "Wheel-Version: 1.0\nGenerator: robocache scripts/wheel\nRoot-Is-Purelib: false\n"
	for _, tag := range w.tags() {
		wheel += "Tag: py3-none-" + tag + "\n"
	}
	dir := w.infoFolder()
	return []entry{
		{dir + "/METADATA", 0o644, []byte(meta)},
		{dir + "/WHEEL", 0o644, []byte(wheel)},
		{dir + "/entry_points.txt", 0o644, []byte("[console_scripts]\nrobocache = robocache.__main__:main\n")},
		{dir + "/licenses/LICENSE", 0o644, licence},
		{dir + "/licenses/THIRD_PARTY_LICENSES", 0o644, w.Notices},
	}, nil
}

// licences returns the licences of the project and all modules.
func licences(modules []Module) []string {
	list := []string{"Apache-2.0"}
	for _, m := range modules {
		list = append(list, m.Licences...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// record lists the files with their SHA-256 and size. Its own entry has neither.
func record(list []entry, self string) []byte {
	var b bytes.Buffer
	for _, e := range list {
		sum := sha256.Sum256(e.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.data))
	}
	fmt.Fprintf(&b, "%s,,\n", self)
	return b.Bytes()
}

// write adds an entry. Its sizes precede its data, because some indexes reject a zip with the sizes after it.
func write(z *zip.Writer, e entry) error {
	var packed bytes.Buffer
	f, err := flate.NewWriter(&packed, flate.DefaultCompression) // BestCompression saves 0.3 % but takes three times as long
	if err != nil {
		return err
	}
	if _, err := f.Write(e.data); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	h, err := zip.FileInfoHeader(fileInfo{e})
	if err != nil {
		return err
	}
	h.Name, h.Method, h.CRC32, h.CompressedSize64 = e.name, zip.Deflate, crc32.ChecksumIEEE(e.data), uint64(packed.Len())
	to, err := z.CreateRaw(h)
	if err != nil {
		return err
	}
	_, err = to.Write(packed.Bytes())
	return err
}

// fileInfo adapts an entry to fs.FileInfo for archives.
type fileInfo struct{ entry }

func (f fileInfo) Name() string       { return f.name }
func (f fileInfo) Size() int64        { return int64(len(f.data)) }
func (f fileInfo) Mode() fs.FileMode  { return f.mode }
func (f fileInfo) ModTime() time.Time { return epoch }
func (f fileInfo) IsDir() bool        { return false }
func (f fileInfo) Sys() any           { return nil }

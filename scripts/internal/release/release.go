package release

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/internal/atomicfile"
)

// Containerfile builds a container image from a release folder. It is part of the release.
//
//go:embed Containerfile
var Containerfile []byte

// Release builds all published files from module root and writes them to the folder dir, which must not exist yet. They are an archive
// with binary and licences for each target, the wheels, LICENSE, THIRD_PARTY_LICENSES, Containerfile, the bill of materials
// robocache.cdx.json, and SHA256SUMS. The folder gets its name after all are complete. Release returns the files' names.
func Release(root, version, dir string) ([]string, error) {
	modules, err := Modules(root, Targets)
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "robocache-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	folder, err := atomicfile.NewFolder(dir, false)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	p := publication{folder: folder.Path(), sums: map[string]string{}}
	notices := Notices(modules)
	var files []File
	for _, t := range Targets {
		path := filepath.Join(scratch, t.OS()+"-"+t.Arch())
		if err := Build(root, t, version, path); err != nil {
			return nil, err
		}
		binary, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		if err := archive(&packed, []entry{
			{t.Program(), 0o755, binary}, {"LICENSE", 0o644, licence}, {"THIRD_PARTY_LICENSES", 0o644, notices},
		}); err != nil {
			return nil, err
		}
		name := ArchiveName(t)
		if err := p.put(name, packed.Bytes()); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(binary)
		files = append(files, File{name, p.sums[name], t}, File{strings.TrimSuffix(name, ".tar.gz") + "/" + t.Program(), hex.EncodeToString(sum[:]), t})
		if t.OS() != "linux" {
			continue
		}
		wheel, err := WriteWheel(p.folder, Wheel{Root: root, Version: version, Arch: t.Arch(), Binary: path, Notices: notices, Modules: modules})
		if err != nil {
			return nil, err
		}
		if err := p.sum(filepath.Base(wheel)); err != nil {
			return nil, err
		}
		files = append(files, File{filepath.Base(wheel), p.sums[filepath.Base(wheel)], t})
	}
	bom, err := BOM(version, modules, files)
	if err != nil {
		return nil, err
	}
	for _, e := range []entry{
		{name: "LICENSE", data: licence}, {name: "THIRD_PARTY_LICENSES", data: notices}, {name: "Containerfile", data: Containerfile}, {name: "robocache.cdx.json", data: bom},
	} {
		if err := p.put(e.name, e.data); err != nil {
			return nil, err
		}
	}
	var sums bytes.Buffer
	for _, name := range p.names {
		fmt.Fprintf(&sums, "%s  %s\n", p.sums[name], name)
	}
	if err := p.put("SHA256SUMS", sums.Bytes()); err != nil {
		return nil, err
	}
	return p.names, folder.Commit()
}

// ArchiveName returns the archive name for a target's binary. It has no version, so that the address for the latest release never
// changes.
func ArchiveName(t Target) string { return "robocache-" + t.OS() + "-" + t.Arch() + ".tar.gz" }

// publication is a release folder while it is written.
type publication struct {
	folder string
	names  []string
	sums   map[string]string // SHA-256 in hex, by name
}

func (p *publication) put(name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(p.folder, name), data, 0o644); err != nil {
		return err
	}
	return p.sum(name)
}

// sum records the checksum of a file in the folder.
func (p *publication) sum(name string) error {
	data, err := os.ReadFile(filepath.Join(p.folder, name))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	p.names, p.sums[name] = append(p.names, name), hex.EncodeToString(sum[:])
	return nil
}

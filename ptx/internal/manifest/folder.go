package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/internal/ptxparse"
)

// folder holds the contents of a kernel folder.
type folder struct {
	families []family
	units    map[string]*unit // the sources by name
	surface  *surface
}

// family is a kernel source with everything built from it.
type family struct {
	name    string
	sources []file
	entries []ptxparse.Entry
	images  []image
}

type file struct{ name, hash string }

type image struct {
	file
	stored  file   // the file in the folder: compressed, unless it is large machine code
	kind    string // PTX or Cubin, as in package ptx
	sm, isa int
	ptxHash string
	toolkit int
}

var (
	familyName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	target     = regexp.MustCompile(`^sm_([0-9]+)$`)
	imageName  = regexp.MustCompile(`^([a-z][a-z0-9_]*)\.sm_(?:80|90)\.(?:ptx\.gz|cubin|cubin\.gz|cubin\.sha256)$`)
)

// shipped lists the architectures for which every family has PTX, best first, with their PTX versions. imageName spells them too.
var shipped = []struct{ sm, isa int }{{90, 78}, {80, 74}}

// mostPacked is the largest cubin that is stored compressed, in bytes; scripts/build_ptx.sh reads it here. Unpacking at load time
// should take about a millisecond: an EPYC core took 1.0 ms for 235 kB and for 252 kB, 1.6 ms for 457 kB, 7.5 to 11 ms for 1.77 MB.
const mostPacked = 278528

func read(dir, name string) (file, []byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return file{}, nil, err
	}
	sum := sha256.Sum256(data)
	return file{name, hex.EncodeToString(sum[:])}, data, nil
}

// readPacked reads a compressed file. It returns the hashes of the data and of the stored file.
func readPacked(dir, name string) (plain, stored file, text []byte, err error) {
	stored, data, err := read(dir, name+".gz")
	if err != nil {
		return plain, stored, nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		text, err = io.ReadAll(z)
	}
	if err != nil {
		return plain, stored, nil, fmt.Errorf("%s: %w", stored.name, err)
	}
	sum := sha256.Sum256(text)
	return file{name, hex.EncodeToString(sum[:])}, stored, text, nil
}

// readFolder reads every family in a folder, sorted by name. It returns an error for a family without PTX, an image without a source,
// images in one family with different entries, a repeated entry name, an unused header, and a kernel parameter that differs from the
// sources' declaration.
func readFolder(dir string) (*folder, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var headers, names []string
	for _, e := range list {
		switch ext := filepath.Ext(e.Name()); ext {
		case ".cuh":
			headers = append(headers, e.Name())
		case ".cu":
			name := strings.TrimSuffix(e.Name(), ext)
			if !familyName.MatchString(name) {
				return nil, fmt.Errorf("%s: a kernel source is named with lower-case letters, digits and _", e.Name())
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s holds no .cu file", dir)
	}
	for _, e := range list {
		switch filepath.Ext(e.Name()) {
		case ".ptx", ".gz", ".cubin", ".sha256":
			m := imageName.FindStringSubmatch(e.Name())
			if m == nil || !slices.Contains(names, m[1]) {
				return nil, fmt.Errorf("%s belongs to no source, or to no architecture that is shipped", e.Name())
			}
		}
		if cubin, side := strings.CutSuffix(e.Name(), ".sha256"); side {
			if !slices.ContainsFunc(list, func(e os.DirEntry) bool { return e.Name() == cubin || e.Name() == cubin+".gz" }) {
				return nil, fmt.Errorf("%s has lost its cubin", e.Name())
			}
		}
	}
	all := &folder{}
	files := slices.Clone(headers)
	for _, name := range names {
		files = append(files, name+".cu")
	}
	if all.units, err = readUnits(dir, files); err != nil {
		return nil, err
	}
	owner, included := map[string]string{}, map[string]bool{}
	for _, name := range names {
		sources, err := sourcesOf(all.units, name+".cu")
		if err != nil {
			return nil, err
		}
		for _, s := range sources {
			included[s] = true
		}
		f, err := readFamily(dir, name, sources)
		if err != nil {
			return nil, err
		}
		for _, e := range f.entries {
			if owner[e.Name] != "" {
				return nil, fmt.Errorf("entry %s is in %s and in %s", e.Name, owner[e.Name], name)
			}
			owner[e.Name] = name
		}
		all.families = append(all.families, f)
	}
	for _, h := range headers {
		if !included[h] {
			return nil, fmt.Errorf("%s is included by no family", h)
		}
	}
	taken, err := goNames(dir)
	if err != nil {
		return nil, err
	}
	if all.surface, err = survey(all.units, taken); err != nil {
		return nil, err
	}
	return all, checkKernels(all.families, all.units, all.surface)
}

func readFamily(dir, name string, sources []string) (family, error) {
	f := family{name: name}
	for _, s := range sources {
		src, _, err := read(dir, s)
		if err != nil {
			return f, err
		}
		f.sources = append(f.sources, src)
	}
	for _, want := range shipped {
		ptxFile, stored, text, err := readPacked(dir, fmt.Sprintf("%s.sm_%d.ptx", name, want.sm))
		if err != nil {
			return f, err
		}
		m, err := ptxparse.Parse(text)
		if err != nil {
			return f, fmt.Errorf("%s: %w", ptxFile.name, err)
		}
		t := target.FindStringSubmatch(m.Target)
		if t == nil || t[1] != strconv.Itoa(want.sm) || m.ISA != want.isa {
			return f, fmt.Errorf("%s: target sm_%d and version %d.%d wanted, got %s and %d.%d",
				ptxFile.name, want.sm, want.isa/10, want.isa%10, m.Target, m.ISA/10, m.ISA%10)
		}
		entries := m.Entries()
		for i := range entries {
			entries[i].Opcodes = nil // may differ between architectures
		}
		if f.entries == nil {
			f.entries = entries
		}
		if len(entries) == 0 || !reflect.DeepEqual(entries, f.entries) {
			return f, fmt.Errorf("%s: no entries, or others than the first image of %s has", ptxFile.name, name)
		}
		cubin, err := readCubin(dir, name, want.sm, want.isa)
		if err != nil {
			return f, err
		}
		if cubin != nil {
			f.images = append(f.images, *cubin)
		}
		f.images = append(f.images, image{ptxFile, stored, "PTX", want.sm, want.isa, ptxFile.hash, 0})
	}
	return f, nil
}

// readCubin returns nil if a family has no cubin for an architecture. A cubin without its provenance file is an error. A cubin built
// from outdated PTX is described as it is.
func readCubin(dir, name string, sm, isa int) (*image, error) {
	cubinName := fmt.Sprintf("%s.sm_%d.cubin", name, sm)
	cubin, data, err := read(dir, cubinName)
	stored := cubin
	if os.IsNotExist(err) {
		if cubin, stored, data, err = readPacked(dir, cubinName); os.IsNotExist(err) {
			return nil, nil
		}
	} else if _, twice := os.Stat(filepath.Join(dir, cubinName+".gz")); err == nil && twice == nil {
		return nil, fmt.Errorf("%s is there compressed too", cubinName)
	}
	if err != nil {
		return nil, err
	}
	if packed := stored != cubin; packed != (len(data) <= mostPacked) {
		return nil, fmt.Errorf("%s has %d bytes: those of up to %d lie compressed, and no others. build_ptx.sh --adopt makes it so", stored.name, len(data), mostPacked)
	}
	_, side, err := read(dir, cubinName+".sha256")
	if err != nil {
		return nil, err
	}
	im := &image{file: cubin, stored: stored, kind: "Cubin", sm: sm, isa: isa}
	ptxName := strings.TrimSuffix(cubinName, ".cubin") + ".ptx"
	for line := range strings.Lines(string(side)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[1] == ptxName && len(fields[0]) == 2*sha256.Size:
			im.ptxHash = fields[0]
		case len(fields) == 3 && fields[0] == "#" && fields[1] == "ptxas":
			if im.toolkit, err = parseRelease(fields[2]); err != nil {
				return nil, fmt.Errorf("%s.sha256: %w", cubinName, err)
			}
		default:
			return nil, fmt.Errorf("%s.sha256: unexpected line %q", cubinName, line)
		}
	}
	if im.ptxHash == "" || im.toolkit == 0 {
		return nil, fmt.Errorf("%s.sha256: a line with the hash of %s and a line %q wanted", cubinName, ptxName, "# ptxas 13.0")
	}
	return im, nil
}

// parseRelease converts "13.0" to 13000.
func parseRelease(s string) (int, error) {
	major, minor, ok := strings.Cut(s, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if !ok || errA != nil || errB != nil || a < 1 || a > 99 || b < 0 || b > 99 {
		return 0, fmt.Errorf("a release such as 13.0 wanted, got %q", s)
	}
	return 1000*a + 10*b, nil
}

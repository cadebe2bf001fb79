package ptx

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Kind is the form of an image: PTX or machine code.
type Kind int

// The image kinds.
const (
	PTX   Kind = iota // text, compiled by the driver when it is loaded
	Cubin             // machine code for one architecture
)

func (k Kind) String() string {
	switch k {
	case PTX:
		return "ptx"
	case Cubin:
		return "cubin"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Image is one compiled form of a kernel family.
type Image struct {
	Family  string
	File    string // the file name; PTX and small cubins are stored in this package's folder as name.gz
	Kind    Kind
	SM      int     // the target architecture, 90 for sm_90
	ISA     int     // .version of the PTX, 78 for 7.8; for a cubin, that of its source PTX
	Hash    string  // SHA-256 of Data, in hex
	PTXHash string  // SHA-256 of the PTX that it was compiled from; equal to Hash for PTX
	Toolkit int     // the CUDA release of the ptxas that made a cubin, as 13000 for 13.0; 0 for PTX
	Entries []Entry // in their order in the text

	stored source // the embedded file
}

// Entry is one kernel in a family.
type Entry struct {
	Name       string
	Params     []Param // in order
	MaxThreads int     // the most threads in a block; 0 if the kernel declares no limit
}

// Param is one kernel parameter. Type is the PTX type name without the dot. A struct has the type b8, with the struct's
// Size.
type Param struct {
	Type        string
	Size, Align int
}

// source is a file with its SHA-256: one that a family was compiled from, or an image as it is embedded.
type source struct {
	file, hash string
}

// family is one row of the generated manifest.
type family struct {
	name    string
	sources []source
	entries []Entry
	images  []Image // without Family and Entries, the best first
}

// Data returns the image's bytes, as the compiler wrote them: PTX has no terminating zero. Do not change them. If the
// Image did not come from this package, Data returns nil.
func (im Image) Data() []byte {
	if data, ok := unpacked.Load(im.stored.file); ok {
		return data.([]byte)
	}
	data, err := files.ReadFile(im.stored.file)
	if err != nil || !strings.HasSuffix(im.stored.file, ".gz") {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	// The last four bytes of a gzip file are the length of the data.
	text := make([]byte, binary.LittleEndian.Uint32(data[len(data)-4:]))
	if _, err := io.ReadFull(z, text); err != nil {
		return nil
	}
	if n, err := z.Read(make([]byte, 1)); n > 0 || err != io.EOF { // reading to the end also verifies the checksum
		return nil
	}
	unpacked.Store(im.stored.file, text)
	return text
}

// unpacked caches the data of compressed images by file name, about 1 MB for each PTX image, because each kernel and each opened
// device reads its image again.
var unpacked sync.Map

// Families returns the names of all kernel families, sorted.
func Families() []string {
	names := make([]string, 0, len(manifest))
	for _, f := range manifest {
		names = append(names, f.name)
	}
	return names
}

// Images returns the images in a family, the best first. It returns nil for an unknown family.
func Images(name string) []Image {
	for _, f := range manifest {
		if f.name != name {
			continue
		}
		images := slices.Clone(f.images)
		for i := range images {
			images[i].Family = f.name
			images[i].Entries = cloneEntries(f.entries)
		}
		return images
	}
	return nil
}

// Lookup returns the family that contains an entry, and the entry. ok is false if no family does. Entry names are unique across
// families.
func Lookup(entry string) (familyName string, e Entry, ok bool) {
	for _, f := range manifest {
		for _, e := range f.entries {
			if e.Name == entry {
				e.Params = slices.Clone(e.Params)
				return f.name, e, true
			}
		}
	}
	return "", Entry{}, false
}

func cloneEntries(entries []Entry) []Entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].Params = slices.Clone(out[i].Params)
	}
	return out
}

// intact reports whether the embedded file has the hash that the manifest lists.
func intact(im Image) bool {
	data, err := files.ReadFile(im.stored.file)
	if err != nil {
		return false
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) == im.stored.hash
}

package cuda

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
)

// Identity is what a table is tuned for: a kind of GPU, and the kernels.
type Identity struct {
	Device     string `json:"device"`     // "NVIDIA H200"
	Capability string `json:"capability"` // "9.0"
	Kernels    string `json:"kernels"`    // a hash of all kernel images
}

// Entry is a class whose launches were found better than the model's.
type Entry struct {
	Class  Class   `json:"class"`
	Choice Choice  `json:"choice"`
	Job    string  `json:"job"`      // that it was found with
	Model  float64 `json:"model_us"` // what the model's choice took there
	Tuned  float64 `json:"tuned_us"` // and this one
}

// Table holds the launch shapes that were tuned for a device. It is not changed while a backend uses it.
type Table struct {
	For     Identity
	entries map[Class]Entry
}

// tableFile is a table as it is stored.
type tableFile struct {
	Format int `json:"format"`
	Identity
	Entries []Entry `json:"entries"`
}

const (
	tableFormat = 1
	mostTable   = 4 << 20 // bytes of a file
)

// ErrStale is of a table for another kind of GPU or other kernels.
var ErrStale = errors.New("it is a table for another device or other kernels")

// NewTable returns an empty table.
func NewTable(id Identity) *Table { return &Table{For: id, entries: map[Class]Entry{}} }

// Set takes an entry, in place of the class's old one. It refuses a choice that the kernel does not take.
func (t *Table) Set(e Entry) error {
	if _, _, ok := ptx.Lookup(e.Class.Kernel); !ok {
		return fmt.Errorf("kernel %q: there is none", e.Class.Kernel)
	}
	if err := e.Choice.check(e.Class.Kernel); err != nil {
		return err
	}
	t.entries[e.Class] = e
	return nil
}

// Drop leaves a class to the model.
func (t *Table) Drop(c Class) { delete(t.entries, c) }

// Clone returns a table that may be changed.
func (t *Table) Clone() *Table {
	n := NewTable(t.For)
	for c, e := range t.entries {
		n.entries[c] = e
	}
	return n
}

// Entries lists the entries in the order of their classes.
func (t *Table) Entries() []Entry {
	list := []Entry{}
	for _, e := range t.entries {
		list = append(list, e)
	}
	slices.SortFunc(list, func(x, y Entry) int {
		a, b := x.Class, y.Class
		return cmp.Or(strings.Compare(a.Kernel, b.Kernel), a.Bytes-b.Bytes, a.Pieces-b.Pieces, a.Targets-b.Targets, a.Stamps-b.Stamps, strings.Compare(a.String(), b.String()))
	})
	return list
}

func (t *Table) lookup(c Class) (Choice, bool) {
	if t == nil {
		return Choice{}, false
	}
	e, ok := t.entries[c]
	return e.Choice, ok
}

// Write stores the table.
func (t *Table) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(tableFile{tableFormat, t.For, t.Entries()})
}

// ReadTable reads a table that must be for that device and those kernels; else the error is ErrStale.
func ReadTable(r io.Reader, id Identity) (*Table, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostTable+1))
	if err != nil {
		return nil, err
	}
	if len(data) > mostTable {
		return nil, fmt.Errorf("more than %d bytes", mostTable)
	}
	var f tableFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("not a table: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("not a table: more after the JSON value")
	}
	if f.Format != tableFormat {
		return nil, fmt.Errorf("format: got %d, want %d", f.Format, tableFormat)
	}
	for _, x := range [][3]string{{"device", f.Device, id.Device}, {"capability", f.Capability, id.Capability}, {"kernels", f.Kernels, id.Kernels}} {
		if x[1] != x[2] {
			return nil, fmt.Errorf("%w: %s: got %q, want %q", ErrStale, x[0], x[1], x[2])
		}
	}
	t := NewTable(id)
	for i, e := range f.Entries {
		if _, twice := t.entries[e.Class]; twice {
			return nil, fmt.Errorf("entry %d: %v is there twice", i, e.Class)
		}
		if err := t.Set(e); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return t, nil
}

// kernelsHash is that of all images.
var kernelsHash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, name := range ptx.Families() {
		for _, im := range ptx.Images(name) {
			fmt.Fprintln(h, im.File, im.Hash)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
})

// identity is the device's.
func (b *backend) identity() Identity {
	name, err := b.dev.Name()
	if err != nil {
		name = err.Error()
	}
	major, minor := b.dev.ComputeCapability()
	return Identity{name, fmt.Sprintf("%d.%d", major, minor), kernelsHash()}
}

// tablePath is where a backend's table lies, and "" with the reason if nowhere: the file that ROBOCACHE_TUNED names, or in that folder,
// or in the user's cache, a file named after the device. Only a real device looks there.
func (b *backend) tablePath() (path, why string) {
	id := b.identity()
	clean := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, strings.ToLower(id.Device+" sm "+id.Capability))
	file := "tuned-" + clean + ".json"
	given := os.Getenv("ROBOCACHE_TUNED")
	switch st, err := os.Stat(given); {
	case given == "off":
		return "", "ROBOCACHE_TUNED is off"
	case given != "" && err == nil && st.IsDir():
		return filepath.Join(given, file), ""
	case given != "":
		return given, ""
	case b.kind != "cuda":
		return "", "a simulated device takes no table but that of ROBOCACHE_TUNED"
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err.Error()
	}
	return filepath.Join(dir, "robocache", file), ""
}

// loadTable reads the table, if there is one for this device and these kernels, and says which launch shapes are used. What is
// wrong with a file is no error: the model does.
func (b *backend) loadTable() {
	path, why := b.tablePath()
	b.shapes = "the model: " + why
	if path == "" {
		return
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		b.shapes = "the model: there is no " + path
		return
	}
	var t *Table
	if err == nil {
		t, err = ReadTable(f, b.identity())
		f.Close()
	}
	if err != nil {
		b.shapes = fmt.Sprintf("the model: %s is not used: %v", path, err)
		return
	}
	b.table.Store(t)
	b.shapes = fmt.Sprintf("tuned for %d classes by %s, else the model", len(t.entries), path)
}

// Tuned returns the table that a stream's backend uses, an empty one if it uses none, and where a table for it belongs, "" if nowhere. A
// Clone of it may be changed.
func Tuned(s ops.Stream) (t *Table, path string, err error) {
	st, ok := s.(*stream)
	if !ok {
		return nil, "", notOurs("Tuned", s)
	}
	path, _ = st.b.tablePath()
	if t = st.b.table.Load(); t == nil {
		t = NewTable(st.b.identity())
	}
	return t, path, nil
}

// UseTable makes the plans that a stream's backend makes from now on take their launch shapes from a table, or with nil from the model.
// Plans that exist keep theirs.
func UseTable(s ops.Stream, t *Table) error {
	st, ok := s.(*stream)
	if !ok {
		return notOurs("UseTable", s)
	}
	if t != nil && t.For != st.b.identity() {
		return fmt.Errorf("cuda: UseTable: %w", ErrStale)
	}
	st.b.table.Store(t)
	return nil
}

// Candidates are the choices that a plan of one launch can be made with, each giving another launch: first the model's. A plan whose
// launches are fixed has none.
func Candidates(p ops.Plan) (Class, []Choice, error) {
	switch p := p.(type) {
	case *plan:
		if err := p.usable("Candidates"); err != nil || p.chosen == nil {
			return Class{}, nil, err
		}
		return p.chosen.class, p.chosen.candidates(), nil
	case *voxelPlan:
		return Class{}, nil, p.usable("Candidates")
	}
	return Class{}, nil, &ops.ArgError{Op: "Candidates", Arg: "plan", Kind: ops.ErrWrongDevice, Got: fmt.Sprintf("%T", p), Want: "a plan of one operation of the CUDA backend"}
}

func notOurs(op string, s ops.Stream) error {
	return &ops.ArgError{Op: op, Arg: "stream", Kind: ops.ErrWrongDevice, Got: fmt.Sprintf("%T", s), Want: "a stream of the CUDA backend"}
}

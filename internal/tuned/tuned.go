package tuned

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/fault"
)

// Policy is one way to launch a job: a variant, by its kernel's name, and the numbers that it leaves free. No result depends on it.
type Policy struct {
	Variant        string `json:"variant"`                    // "resample_small"
	ItemsPerThread int    `json:"items_per_thread,omitempty"` // pieces that a thread makes
	Tile           int    `json:"tile,omitempty"`             // targets of a block at most
	Check          int    `json:"check,omitempty"`            // timestamps that a block checks
	Prefetch       bool   `json:"prefetch,omitempty"`         // rows are asked for early
}

// Numbers are the policy as text, without the variant.
func (c Policy) Numbers() string {
	var parts []string
	for i, n := range []int{c.ItemsPerThread, c.Tile, c.Check} {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", []string{"items", "tile", "check"}[i], n))
		}
	}
	if c.Prefetch {
		parts = append(parts, "prefetch")
	}
	return strings.Join(parts, ", ")
}

// String is the variant and the numbers.
func (c Policy) String() string { return strings.TrimSpace(c.Variant + " " + c.Numbers()) }

// SearchSpace is the numbers that a variant's policies may have; nil is one that it does not have.
type SearchSpace struct {
	ItemsPerThread, Tile []int
	Prefetch             bool
}

var checks = []int{1024, 256, 512, 4096}

// Allows reports whether a policy is one of the variant's.
func (f *SearchSpace) Allows(c Policy) bool {
	has := func(list []int, n int) bool { return list == nil && n == 0 || slices.Contains(list, n) }
	return has(f.ItemsPerThread, c.ItemsPerThread) && has(f.Tile, c.Tile) && has(checks, c.Check) && (f.Prefetch || !c.Prefetch)
}

// All lists the policies of a variant.
func (f *SearchSpace) All(variant string) (list []Policy) {
	or := func(l []int) []int {
		if l == nil {
			return []int{0}
		}
		return l
	}
	for _, each := range or(f.ItemsPerThread) {
		for _, tile := range or(f.Tile) {
			for _, check := range checks {
				c := Policy{Variant: variant, ItemsPerThread: each, Tile: tile, Check: check}
				list = append(list, c)
				if c.Prefetch = true; f.Prefetch {
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// Key is what policies are kept by: jobs that the heuristic gives to one variant and of which nothing differs by a factor of two. All numbers
// are log2, rounded down, and -1 of 0.
type Key struct {
	Variant    string `json:"variant"`
	Bytes      int    `json:"bytes"`           // of a target's features in dst
	Pieces     int    `json:"pieces"`          // of a target
	Targets    int    `json:"targets"`         // of all rows
	Timestamps int    `json:"timestamps"`      // that are checked, of all rows and streams
	Ready      bool   `json:"ready,omitempty"` // inputs are declared ready: launches overlap
}

// String is the variant and the powers of two.
func (c Key) String() string {
	s := fmt.Sprintf("%s bytes=2^%d pieces=2^%d targets=2^%d timestamps=2^%d", c.Variant, c.Bytes, c.Pieces, c.Targets, c.Timestamps)
	if c.Ready {
		s += " ready"
	}
	return s
}

// Entry is a key for which a policy was found better than the heuristic's.
type Entry struct {
	Key       Key     `json:"key"`
	Policy    Policy  `json:"policy"`
	Job       string  `json:"job"`          // that it was found with
	Heuristic float64 `json:"heuristic_us"` // what the heuristic's policy took there
	Tuned     float64 `json:"tuned_us"`     // and this one
}

// Identity is what a table is for: a kind of GPU, and the kernels.
type Identity struct {
	Device     string `json:"device"`     // "NVIDIA H200"
	Capability string `json:"capability"` // "9.0"
	Kernels    string `json:"kernels"`    // a hash of all kernel images
}

// Table holds the entries for one identity. It is not changed while a backend uses it.
type Table struct {
	For Identity
	// Unread is an error of the system at the file of the table, which is then empty and must not replace the file.
	Unread  error
	entries map[Key]Entry
}

// file is a table as it is stored.
type file struct {
	Format int `json:"format"`
	Identity
	Entries []Entry `json:"entries"`
}

const format = 3

// ErrStale is of a table for another kind of GPU or other kernels.
var ErrStale = errors.New("it is a table for another device or other kernels")

// New returns an empty table.
func New(id Identity) *Table { return &Table{For: id, entries: map[Key]Entry{}} }

// Set takes an entry, in place of the key's old one.
func (t *Table) Set(e Entry) { t.entries[e.Key] = e }

// Drop leaves a key to the heuristic.
func (t *Table) Drop(c Key) { delete(t.entries, c) }

// Clone returns a table that may be changed.
func (t *Table) Clone() *Table { return &Table{t.For, t.Unread, maps.Clone(t.entries)} }

// Entries lists the entries in the order of their keys.
func (t *Table) Entries() []Entry {
	return slices.SortedFunc(maps.Values(t.entries), func(x, y Entry) int {
		a, b := x.Key, y.Key
		return cmp.Or(strings.Compare(a.Variant, b.Variant), a.Bytes-b.Bytes, a.Pieces-b.Pieces, a.Targets-b.Targets, a.Timestamps-b.Timestamps, strings.Compare(a.String(), b.String()))
	})
}

// Lookup returns the policy for a key, if the table has one. A table that is nil has none.
func (t *Table) Lookup(c Key) (Policy, bool) {
	if t == nil {
		return Policy{}, false
	}
	e, ok := t.entries[c]
	return e.Policy, ok
}

// Write stores the table.
func (t *Table) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(file{format, t.For, t.Entries()})
}

// read reads a table that must be for that device and those kernels; else the error is ErrStale.
func read(r io.Reader, id Identity) (*Table, error) {
	data, err := io.ReadAll(io.LimitReader(r, 4<<20))
	if err != nil {
		return nil, err
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("not a table: %w", err)
	}
	if f.Format != format {
		return nil, fmt.Errorf("format: got %d, want %d", f.Format, format)
	}
	if f.Identity != id {
		return nil, fmt.Errorf("%w: got %+v, want %+v", ErrStale, f.Identity, id)
	}
	t := New(id)
	for i, e := range f.Entries {
		if _, twice := t.entries[e.Key]; twice || e.Key.Variant == "" || e.Policy.Variant == "" || min(e.Policy.ItemsPerThread, e.Policy.Tile, e.Policy.Check) < 0 {
			return nil, fmt.Errorf("entry %d: got %v for %v, want a variant, no number below 0, and each key once", i, e.Policy, e.Key)
		}
		t.Set(e)
	}
	return t, nil
}

// Path is where a device's table lies, and "" with the reason if nowhere: the file that ROBOCACHE_TUNED names, or in that folder,
// or in the user's cache if it is asked for, a file named after the device.
func Path(id Identity, cache bool) (path, why string) {
	clean := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, strings.ToLower(id.Device+" sm "+id.Capability))
	name := "tuned-" + clean + ".json"
	given := os.Getenv("ROBOCACHE_TUNED")
	switch st, err := os.Stat(given); {
	case given == "off":
		return "", "ROBOCACHE_TUNED is off"
	case given != "" && err == nil && st.IsDir():
		return filepath.Join(given, name), ""
	case given != "":
		return given, ""
	case !cache:
		return "", "a simulated device takes no table but that of ROBOCACHE_TUNED"
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err.Error()
	}
	return filepath.Join(dir, "robocache", name), ""
}

// Find reads a device's table, nil if there is none, and says what chooses then. What is wrong with a file is no error: the heuristic does.
func Find(id Identity, cache bool) (t *Table, how string) {
	path, why := Path(id, cache)
	if path == "" {
		return nil, "the heuristic: " + why
	}
	f, err := fault.Call("open", path, func() (*os.File, error) { return os.Open(path) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "the heuristic: there is no " + path
	}
	if err == nil {
		t, err = read(f, id)
		f.Close()
	}
	if fault.Failed(err) {
		t = New(id)
		t.Unread = err
	}
	if err != nil {
		return t, fmt.Sprintf("the heuristic: %s is not used: %v", path, err)
	}
	return t, fmt.Sprintf("tuned for %d keys by %s, else the heuristic", len(t.entries), path)
}

// Device is what a stream of the CUDA backend can do for tuning.
type Device interface {
	// Tuned returns the table in use, an empty one if there is none, and where one belongs, "" if nowhere. A Clone of it may be changed.
	Tuned() (t *Table, path string)
	// Tune has plans that are made from now on take their policies from a table, or with nil from the heuristic. Plans that exist keep theirs.
	Tune(t *Table) error
}

// Plan is what plans of the CUDA backend can do for it.
type Plan interface {
	// Candidates are the plan's key and the policies that it can be made with, each another launch: the heuristic's first. A plan whose
	// launch is fixed has none.
	Candidates() (Key, []Policy, error)
}

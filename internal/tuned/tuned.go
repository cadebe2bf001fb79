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

// Policy is one way to launch a job: a variant, named by its kernel, and its free parameters. Results do not depend on it.
type Policy struct {
	Variant        string `json:"variant"`                    // such as "resample_small"
	ItemsPerThread int    `json:"items_per_thread,omitempty"` // pieces per thread
	Tile           int    `json:"tile,omitempty"`             // maximum targets per block
	Check          int    `json:"check,omitempty"`            // timestamps that a block checks
	Prefetch       bool   `json:"prefetch,omitempty"`         // fetch rows early
}

// Numbers formats the policy without the variant.
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

// String formats the variant and the numbers.
func (c Policy) String() string { return strings.TrimSpace(c.Variant + " " + c.Numbers()) }

// SearchSpace lists the parameter values for a variant's policies. nil means that the variant lacks the parameter.
type SearchSpace struct {
	ItemsPerThread, Tile []int
	Prefetch             bool
}

var checks = []int{1024, 256, 512, 4096}

// Allows reports whether a policy is in the search space.
func (f *SearchSpace) Allows(c Policy) bool {
	has := func(list []int, n int) bool { return list == nil && n == 0 || slices.Contains(list, n) }
	return has(f.ItemsPerThread, c.ItemsPerThread) && has(f.Tile, c.Tile) && has(checks, c.Check) && (f.Prefetch || !c.Prefetch)
}

// All lists the policies for a variant.
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

// Key identifies similar jobs. They have the same variant by the heuristic, and no size differs by a factor of two. All numbers are
// log2, rounded down, and -1 for 0.
type Key struct {
	Variant    string `json:"variant"`
	Bytes      int    `json:"bytes"`           // of a target's features in dst
	Pieces     int    `json:"pieces"`          // per target
	Targets    int    `json:"targets"`         // over all rows
	Timestamps int    `json:"timestamps"`      // that are checked, over all rows and streams
	Ready      bool   `json:"ready,omitempty"` // inputs are declared ready, so launches overlap
}

// String formats the variant and the powers of two.
func (c Key) String() string {
	s := fmt.Sprintf("%s bytes=2^%d pieces=2^%d targets=2^%d timestamps=2^%d", c.Variant, c.Bytes, c.Pieces, c.Targets, c.Timestamps)
	if c.Ready {
		s += " ready"
	}
	return s
}

// Entry is a key with a policy that is faster than the heuristic's.
type Entry struct {
	Key       Key     `json:"key"`
	Policy    Policy  `json:"policy"`
	Job       string  `json:"job"`          // the job that was measured
	Heuristic float64 `json:"heuristic_us"` // time with the heuristic's policy
	Tuned     float64 `json:"tuned_us"`     // time with this policy
}

// Identity is the kind of GPU and the kernels that a table is valid for.
type Identity struct {
	Device     string `json:"device"`     // such as "NVIDIA H200"
	Capability string `json:"capability"` // such as "9.0"
	Kernels    string `json:"kernels"`    // a hash over all kernel images
}

// Table holds the entries for one identity. It must not change while a backend uses it.
type Table struct {
	For Identity
	// Unread is the system error if the table's file could not be read. The table is then empty and must not replace the file.
	Unread  error
	entries map[Key]Entry
}

// file is a table's JSON form.
type file struct {
	Format int `json:"format"`
	Identity
	Entries []Entry `json:"entries"`
}

const format = 3

// ErrStale means that a table is for another kind of GPU or other kernels.
var ErrStale = errors.New("it is a table for another device or other kernels")

// New returns an empty table.
func New(id Identity) *Table { return &Table{For: id, entries: map[Key]Entry{}} }

// Set adds an entry and replaces the old one for the same key.
func (t *Table) Set(e Entry) { t.entries[e.Key] = e }

// Drop removes a key, so that the heuristic decides.
func (t *Table) Drop(c Key) { delete(t.entries, c) }

// Clone returns a copy that may be changed.
func (t *Table) Clone() *Table { return &Table{t.For, t.Unread, maps.Clone(t.entries)} }

// Entries lists the entries, sorted by key.
func (t *Table) Entries() []Entry {
	return slices.SortedFunc(maps.Values(t.entries), func(x, y Entry) int {
		a, b := x.Key, y.Key
		return cmp.Or(strings.Compare(a.Variant, b.Variant), a.Bytes-b.Bytes, a.Pieces-b.Pieces, a.Targets-b.Targets, a.Timestamps-b.Timestamps, strings.Compare(a.String(), b.String()))
	})
}

// Lookup returns the policy for a key, if the table has one. A nil table has none.
func (t *Table) Lookup(c Key) (Policy, bool) {
	if t == nil {
		return Policy{}, false
	}
	e, ok := t.entries[c]
	return e.Policy, ok
}

// Write writes the table as JSON.
func (t *Table) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(file{format, t.For, t.Entries()})
}

// read reads a table. If it is for another device or other kernels, the error is ErrStale.
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

// Path returns the path of a device's table. ROBOCACHE_TUNED names the file, or a folder for a file named after the device. Otherwise
// the file is in the user's cache if cache is true. If there is no path, why is the reason.
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

// Find reads a device's table, nil if there is none. how describes the source of launch shapes. A bad file is not an error: the
// heuristic is used instead.
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

// Device is implemented by queues of the CUDA backend for tuning.
type Device interface {
	// Tuned returns the table in use (an empty one if there is none) and the path for storing it ("" if there is none). Change only a
	// Clone.
	Tuned() (t *Table, path string)
	// Tune makes later plans use a table, or the heuristic if t is nil. Existing plans do not change.
	Tune(t *Table) error
}

// Plan is implemented by plans of the CUDA backend for tuning.
type Plan interface {
	// Candidates returns the plan's key and the policies with distinct launches, the heuristic's first. A plan with a fixed launch has
	// none.
	Candidates() (Key, []Policy, error)
}

package tuned

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fault"
)

var gpu = Identity{"NVIDIA H200", "9.0", "0123"}

// some is a table of a key with and without inputs ready, and of a larger one.
func some() (*Table, []Entry) {
	alone := Key{Variant: "resample_fast", Bytes: 5, Pieces: 2, Targets: 9, Timestamps: -1}
	ready, large := alone, alone
	ready.Ready, large.Targets = true, 10
	list := []Entry{
		{alone, Policy{Variant: "resample_small", Check: 512}, "resample 2x64->300x8", 2, 1.5},
		{ready, Policy{Variant: "resample_fast", ItemsPerThread: 4, Check: 256, Prefetch: true}, "", 3, 2},
		{large, Policy{Variant: "resample_fast", ItemsPerThread: 2, Tile: 8}, "", 4, 3},
	}
	t := New(gpu)
	for _, i := range []int{2, 0, 1} {
		t.Set(list[i])
	}
	return t, list
}

func written(t *testing.T, table *Table) string {
	var b bytes.Buffer
	require.NoError(t, table.Write(&b))
	return b.String()
}

func TestTablesAreReadAsTheyWereWritten(t *testing.T) {
	table, list := some()
	assert.Equal(t, list, table.Entries())
	again, err := read(strings.NewReader(written(t, table)), gpu)
	require.NoError(t, err)
	assert.Equal(t, table, again)
	c, ok := again.Lookup(list[1].Key)
	assert.True(t, ok)
	assert.Equal(t, "resample_fast items 4, check 256, prefetch", c.String())
	clone := again.Clone()
	clone.Drop(list[1].Key)
	_, ok = clone.Lookup(list[1].Key)
	assert.False(t, ok)
	assert.Equal(t, list, again.Entries())
	_, ok = (*Table)(nil).Lookup(list[1].Key)
	assert.False(t, ok)
}

func TestTablesThatDoNotFitAreRefused(t *testing.T) {
	table, _ := some()
	good := written(t, table)
	_, err := read(strings.NewReader(good), Identity{"NVIDIA H200", "9.0", "4567"})
	assert.ErrorIs(t, err, ErrStale)
	assert.ErrorContains(t, err, "Kernels:4567")
	for what, c := range map[string]struct{ text, want string }{
		"another format": {strings.Replace(good, `"format": 3`, `"format": 2`, 1), "format: got 2, want 3"},
		"something else": {`{"jobs": []}`, "format: got 0"},
		"cut off":        {good[:len(good)/2], "not a table"},
		"nothing":        {"", "not a table"},
		"more behind it": {good + "{}", "not a table"},
		"a key twice":    {strings.Replace(good, `"targets": 10`, `"targets": 9`, 1), "each key once"},
		"no variant":     {strings.Replace(good, "resample_small", "", 1), "entry 0: got check 512 for"},
		"a number below": {strings.Replace(good, `"tile": 8`, `"tile": -8`, 1), "entry 2: "},
	} {
		_, err := read(strings.NewReader(c.text), gpu)
		assert.ErrorContains(t, err, c.want, what)
		assert.NotErrorIs(t, err, ErrStale, what)
	}
}

// A table that the system does not read is not taken for none, because a new one would replace it.
func TestATableThatCannotBeReadIsNoEmptyOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.json")
	t.Setenv("ROBOCACHE_TUNED", path)
	table, _ := some()
	require.NoError(t, os.WriteFile(path, []byte(written(t, table)), 0o600))
	restore := fault.Inject(func(string, string) error { return syscall.EMFILE })
	got, how := Find(gpu, false)
	restore()
	assert.Contains(t, how, "the heuristic: "+path+" is not used: ")
	require.NotNil(t, got)
	assert.ErrorIs(t, got.Unread, syscall.EMFILE)
	assert.Empty(t, got.Entries())
	got, _ = Find(gpu, false)
	assert.Equal(t, table, got)
}

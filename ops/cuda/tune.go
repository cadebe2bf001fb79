package cuda

import (
	"fmt"

	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/internal/tuned"
)

var (
	_ tuned.Device = (*queue)(nil)
	_ tuned.Plan   = (*plan)(nil)
)

// identity returns the device's name, compute capability and kernel hash, the key for tuned tables.
func (b *gpu) identity() tuned.Identity {
	name, err := b.dev.Name()
	if err != nil {
		name = err.Error()
	}
	major, minor := b.dev.ComputeCapability()
	return tuned.Identity{Device: name, Capability: fmt.Sprintf("%d.%d", major, minor), Kernels: kernels.Hash()}
}

// real reports whether the device is a real GPU, or a device that package ops/record plans for. Only these use the table in the user's
// cache.
func (b *gpu) real() bool { return b.kind == "cuda" || b.kind == "record" }

// loadTable loads the tuned table for this device and these kernels, if one exists.
func (b *gpu) loadTable() {
	table, how := tuned.Find(b.identity(), b.real())
	b.table.Store(table)
	b.shapes = how
}

func (st *queue) Tuned() (t *tuned.Table, path string) {
	path, _ = tuned.Path(st.b.identity(), st.b.real())
	if t = st.b.table.Load(); t == nil {
		t = tuned.New(st.b.identity())
	}
	return t, path
}

func (st *queue) Tune(t *tuned.Table) error {
	if t != nil && t.For != st.b.identity() {
		return fmt.Errorf("cuda: Tune: %w", tuned.ErrStale)
	}
	st.b.table.Store(t)
	return nil
}

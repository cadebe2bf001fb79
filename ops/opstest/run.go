package opstest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
)

// Long makes Run take a sample of generated cases twenty times larger. It is set by ROBOCACHE_LONG=1.
var Long = os.Getenv("ROBOCACHE_LONG") == "1"

// watched reports that a memory checker slows every launch down; the bundle's run.sh says so.
var watched = os.Getenv("ROBOCACHE_SANITIZER") != ""

// Config is what Run cannot find out by itself. The zero value is fine.
type Config struct {
	// MemoryInUse returns the bytes of device memory that are in use now. Run checks with it that ten thousand calls leave
	// no more behind than a few.
	MemoryInUse func() int64
	// Skip names groups of tests to leave out: "named", "misuse", "values", "properties", "life", "golden", "generated", "fuse", "voxel".
	// Voxel has groups of the same names, which are left out with them.
	Skip map[string]bool
	// Only, if there is any, leaves out all groups but these.
	Only map[string]bool
	// Slow divides the numbers of repeated calls and of generated cases, for a device that is simulated; 0 and 1 leave them.
	Slow int
}

// scaled is n, or what a slow device does instead.
func (c Config) scaled(n int) int { return max(n/max(c.Slow, 1), 1) }

// Run tests a device. See the package comment.
func Run(t *testing.T, dev *ops.Device, config ...Config) {
	s := &suite{dev: dev}
	if len(config) > 0 {
		s.cfg = config[0]
	}
	s.cfg.Slow = max(s.cfg.Slow, raceSlow)
	if !s.isCPU() {
		cpu, err := ops.Open("cpu")
		require.NoError(t, err)
		defer cpu.Close()
		s.cpu = cpu
	}
	groups := []struct {
		name string
		run  func(*suite, *testing.T)
	}{
		{"named", (*suite).named},
		{"misuse", (*suite).misuse},
		{"values", (*suite).badValues},
		{"golden", (*suite).golden},
		{"properties", (*suite).properties},
		{"life", (*suite).life},
		{"generated", (*suite).generated},
		{"fuse", (*suite).fuse},
		{"voxel", (*suite).voxel},
	}
	for _, g := range groups {
		if !s.cfg.Skip[g.name] && (len(s.cfg.Only) == 0 || s.cfg.Only[g.name]) {
			t.Run(g.name, func(t *testing.T) { g.run(s, t) })
		}
	}
}

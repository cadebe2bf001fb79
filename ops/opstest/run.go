package opstest

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
)

// Long makes Run take a sample of generated cases twenty times larger. It is set by ROBOCACHE_LONG=1.
var Long = os.Getenv("ROBOCACHE_LONG") == "1"

// tool is the memory checker that slows every launch down; the bundle's run.sh names it.
var tool = os.Getenv("ROBOCACHE_SANITIZER")

// watched reports that there is one. raced reports that it is racecheck, which follows every access to shared memory: Run then
// makes a few launches of each kernel in each shape, and leaves out what only repeats them.
var watched, raced = tool != "", tool == "racecheck"

// repeats are the groups and named cases whose launches others make too, or that make none, or thousands of millions of accesses.
var repeats = map[string]bool{"misuse": true, "values": true, "properties": true, "life": true, "huge": true, "unsorted": true, "whole-range": true}

// part runs a part of the suite by its name, unless racecheck has nothing more to see there.
func (s *suite) part(t *testing.T, name string, run func(t *testing.T)) {
	if raced && repeats[name] {
		t.Logf("%s: left out under racecheck, as its launches are like those of other groups", name)
		return
	}
	t.Run(name, run)
}

// thin reports, under racecheck, that a case may be left out: seven of eight are.
func thin(number int) bool { return raced && number%8 != 0 }

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
	if raced {
		s.cfg.Slow = max(s.cfg.Slow, 20)
	}
	if !s.isCPU() {
		cpu, err := ops.Open("cpu")
		require.NoError(t, err)
		defer cpu.Close()
		s.cpu = cpu
	}
	type group struct {
		name string
		run  func(*suite, *testing.T)
	}
	groups := []group{
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
	for _, named := range []map[string]bool{s.cfg.Skip, s.cfg.Only} {
		for name := range named {
			require.True(t, slices.ContainsFunc(groups, func(g group) bool { return g.name == name }), "there is no group %q", name)
		}
	}
	for _, g := range groups {
		if !s.cfg.Skip[g.name] && (len(s.cfg.Only) == 0 || s.cfg.Only[g.name]) {
			s.part(t, g.name, func(t *testing.T) { g.run(s, t) })
		}
	}
}

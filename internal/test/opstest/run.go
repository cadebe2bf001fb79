package opstest

import (
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
)

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
	// Skip names groups of tests to leave out: "named", "misuse", "values", "properties", "life", "golden", "generated", "unaligned", "speculative", "fuse", "backward",
	// "voxel", "draw", "tally". Fuse, backward, voxel, draw and tally have groups of the same names, which are left out with them.
	Skip map[string]bool
	// Only, if there is any, leaves out all groups but these. "voxel" is all of voxel's, "voxel-golden" that one, "*-life" that of each operation
	// that has groups of its own.
	Only map[string]bool
	// More multiplies the number of generated cases; 0 and 1 leave it. The first of them are those without it.
	More int
	// Pick, if there is one, is asked before each generated case, by name; one that it refuses is left out.
	Pick func(name string) bool
	// Slow divides the numbers of repeated calls and of generated cases, for a device that is simulated, and above 1 a case is run by a call or as a plan
	// and not as both; 0 and 1 leave them.
	Slow int
	// OneOf is of how many of the cases made by hand one is run, where what differs is not how they are computed; 0 and 1 are all.
	OneOf int
	// Both runs cases in both forms, however slow the device is.
	Both bool
}

// scaled is n, or what a slow device does instead.
func (c Config) scaled(n int) int { return max(n/max(c.Slow, 1), 1) }

// form is how a case is run: in both forms, by a call alone, or as a plan alone.
type form int

const (
	both form = iota
	called
	planned
)

// form is both, and on a slow device one of the others by turns, in no step with the loops that cases come from.
func (s *suite) form() form {
	if s.cfg.Slow <= 1 || s.cfg.Both {
		return both
	}
	s.cases++
	return called + form(s.cases*0x9e3779b1>>31)
}

// Under the race detector, raceSlow is the least Config.Slow, because each access costs many times as much and more drawn cases make no other accesses,
// and one of raceOf cases runs, because one goroutine works out the values that results are compared with.
var raceSlow, raceOf = 1, 1

func init() {
	if thorough.Raced {
		raceSlow, raceOf = 10, 32
	}
}

// rare reports, under the race detector and with Config.OneOf, that a case may be left out.
func (s *suite) rare() bool {
	s.cases++
	of := uint32(max(raceOf, s.cfg.OneOf))
	return of > 1 && s.cases*0x9e3779b1>>16%of != 0
}

// forms are whether a case is run by a call, and the layouts of those plans that it is run as.
func (s *suite) forms(plansOnly bool, ls []layout) (call bool, plans []layout) {
	if plansOnly || len(ls) == 0 {
		return !plansOnly, ls
	}
	switch s.form() {
	case called:
		return true, ls[1:]
	case planned:
		return false, ls
	}
	return true, ls
}

// sample is how many generated cases of a kind there are, where a fast device has n, and twenty times as many with ROBOCACHE_LONG=1.
func (c Config) sample(n int) int {
	return c.scaled(thorough.Of(n, 20*n) * max(c.More, 1))
}

// picks reports whether a generated case is to run.
func (c Config) picks(name string) bool { return c.Pick == nil || c.Pick(name) }

// runs reports whether a group is to run, or one within a group.
func (c Config) runs(group, part string) bool {
	name := group
	if part != "" {
		name = group + "-" + part
	}
	switch {
	case c.Skip[group] || c.Skip[part] || c.Skip[name]:
		return false
	case len(c.Only) == 0 || c.Only[group] || c.Only[name] || part != "" && c.Only["*-"+part]:
		return true
	}
	for only := range c.Only {
		if part == "" && strings.HasPrefix(only, group+"-") {
			return true
		}
	}
	return false
}

// each runs cases by name, in their names' order: what a slow device leaves out is the same each time.
func (s *suite) each(t *testing.T, cases map[string]func(*suite, *testing.T)) {
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		s.part(t, name, func(t *testing.T) { cases[name](s, t) })
	}
}

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
	groups := []group{
		{"named", (*suite).named},
		{"misuse", (*suite).misuse},
		{"values", (*suite).badValues},
		{"golden", (*suite).golden},
		{"properties", (*suite).properties},
		{"life", (*suite).life},
		{"generated", (*suite).generated},
		{"unaligned", (*suite).unaligned},
		{"speculative", (*suite).speculative},
	}
	operations := []group{ // that have groups of their own
		{"fuse", (*suite).fuse},
		{"backward", (*suite).gradientGroup},
		{"voxel", (*suite).voxel},
		{"draw", (*suite).draw},
		{"tally", (*suite).tally},
	}
	all := append(groups, operations...)
	for _, named := range []map[string]bool{s.cfg.Skip, s.cfg.Only} {
		for name := range named {
			whole, _, _ := strings.Cut(name, "-")
			require.True(t, whole == "*" || slices.ContainsFunc(all, func(g group) bool { return g.name == whole }), "there is no group %q", name)
		}
	}
	each := slices.ContainsFunc(slices.Collect(maps.Keys(s.cfg.Only)), func(name string) bool { return strings.HasPrefix(name, "*-") })
	for i, g := range all {
		if s.cfg.runs(g.name, "") || each && i >= len(groups) {
			s.part(t, g.name, func(t *testing.T) { g.run(s, t) })
		}
	}
}

// Main runs the tests of a package that runs the suite. The suite makes many arrays that live for one case: with more room between collections
// of garbage it takes a fifth less time.
func Main(m *testing.M) int {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(2 << 30)
	return m.Run()
}

// group is a group of cases, or a part of one.
type group struct {
	name string
	run  func(*suite, *testing.T)
}

// parts runs the parts of a group that are asked for.
func (s *suite) parts(t *testing.T, of string, list []group) {
	for _, g := range list {
		if s.cfg.runs(of, g.name) {
			s.part(t, g.name, func(t *testing.T) { g.run(s, t) })
		}
	}
}

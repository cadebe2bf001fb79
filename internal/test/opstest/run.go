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

// tool is the name of the memory checker, from its environment variable, or "". It makes each launch slow.
var tool = os.Getenv("ROBOCACHE_SANITIZER")

// watched reports whether the checker is racecheck, which follows every access to shared memory. Then only the default set runs,
// without the parts in repeated.
var watched = tool == "racecheck"

// Config has settings that Run cannot determine. The zero value is valid.
type Config struct {
	// MemoryInUse returns the bytes of device memory in use. Run uses it to check that ten thousand calls leave no more allocated
	// than a few.
	MemoryInUse func() int64
}

// parts has the functions that run a group's cases, by name. They run in the order of their names.
type parts map[string]func(*suite, *testing.T)

// group has the cases of one operation, or of something that operations share.
type group struct {
	name  string
	parts parts
}

// groups returns the whole suite.
func groups() []group {
	return []group{
		{"resample", resampleParts()}, {"unaligned", unalignedParts()}, {"fuse", fuseParts()}, {"backward", backwardParts()},
		{"voxel", voxelParts()}, {"doubles", doubleParts()}, {"draw", drawParts()}, {"tally", tallyParts()}, {"frames", framesParts()},
		{"deproject", deprojectParts()}, {"farthest", farthestParts()}, {"integrate", integrateParts()},
		{"large", largeParts()}, {"life", lifeParts()},
	}
}

// Few lists the parts that should also run on a device with one multiprocessor, because a backend takes other code paths there.
var Few = []string{
	"resample/speculative", "unaligned/lone infinities", "unaligned/lone infinities in a fusion", "backward/edges", "backward/shapes", "backward/dtypes", "backward/tiles",
	"draw/values", "frames/generated", "frames/several groups in a thread", "large/voxels", "large/sorted", "large/grouped", "large/tally", "large/integrate",
}

// Concurrent lists the parts that use a device from several goroutines.
var Concurrent = []string{"life/four goroutines on four queues", "life/64 goroutines on one device"}

// repeated lists parts with launches that other parts make too, or with billions of memory accesses.
var repeated = []string{"resample/unsorted", "resample/huge", "resample/whole-range", "resample/values", "resample/properties", "fuse/values", "backward/values", "voxel/properties", "draw/values", "life"}

// implied lists the parts with promises that follow if a device gives the same bits as the CPU. In the default set a simulated device
// skips them.
var implied = []string{"resample/properties", "voxel/properties", "voxel/conservation", "doubles/order", "draw/order", "backward/adjoint", "backward/differences"}

// complete lists the parts that run all their cases on every device, because each case was the only one that found some defect in a
// kernel.
var complete = []string{"backward/dtypes", "unaligned/lone infinities in a fusion", "unaligned/timestamps at once", "unaligned/timestamps at once in a fusion"}

// Operations lists the groups that test operations.
var Operations = []string{"resample", "unaligned", "fuse", "backward", "voxel", "doubles", "draw", "tally", "frames", "deproject", "farthest", "integrate", "large"}

// newSuite returns a suite for a device. A real GPU runs the long set, as any device does if ROBOCACHE_LONG=1.
func newSuite(t testing.TB, dev *ops.Device, config Config) *suite {
	s := &suite{dev: dev, cfg: config, seen: map[string]bool{}}
	driver := dev.Info().Driver
	gpu := driver != "" && !strings.Contains(driver, "simulated")
	s.simulated = !s.isCPU() && !gpu
	s.long = (gpu || thorough.Long) && !watched
	if !s.isCPU() {
		cpu, err := ops.Open("cpu")
		require.NoError(t, err)
		t.Cleanup(func() { cpu.Close() })
		s.cpu = cpu
	}
	return s
}

// Run runs the suite on a device. only lists groups and parts, such as "voxel" and "fuse/generated"; without it all run. The package
// comment describes the sets.
func Run(t *testing.T, dev *ops.Device, config Config, only ...string) {
	s := newSuite(t, dev, config)
	found := map[string]bool{}
	for _, g := range groups() {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(g.parts)) {
			whole := g.name + "/" + name
			found[g.name], found[whole] = true, true
			in := func(list []string) bool { return slices.Contains(list, g.name) || slices.Contains(list, whole) }
			if (len(only) == 0 || in(only)) && !(watched && in(repeated)) && !(s.simulated && !s.long && in(implied)) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			for _, name := range names {
				clear(s.seen)
				s.all = slices.Contains(complete, g.name+"/"+name)
				t.Run(name, func(t *testing.T) { g.parts[name](s, t) })
			}
		})
	}
	for _, name := range only {
		require.True(t, found[name], "there is no part %q", name)
	}
}

// Main runs the tests of a package that runs the suite. The suite makes many arrays that live for one case. Less frequent garbage
// collection makes it a fifth faster.
func Main(m *testing.M) int {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(2 << 30)
	return m.Run()
}

// times returns the number of repetitions: n, or a twentieth on a simulated device, where each takes milliseconds.
func (s *suite) times(n int) int {
	if s.simulated {
		return max(n/20, 1)
	}
	return n
}

// resampleParts returns the tests for Resample.
func resampleParts() parts {
	return parts{
		"literals":             (*suite).literals,
		"exact-hit":            (*suite).exactHit,
		"long-row":             (*suite).longRow,
		"epoch":                (*suite).epoch,
		"nan-row":              (*suite).nanRow,
		"rows-differ":          (*suite).rowsDiffer,
		"widths":               (*suite).widths,
		"strides":              (*suite).strides,
		"empty":                (*suite).empty,
		"no-features":          (*suite).noFeatures,
		"unsorted":             (*suite).unsorted,
		"huge":                 (*suite).huge,
		"slerp-orders":         (*suite).slerpOrders,
		"slerp-half-turn":      (*suite).slerpHalfTurn,
		"whole-range":          (*suite).wholeRange,
		"whole-chunks":         (*suite).wholeChunks,
		"weights":              resampled(weights),
		"many-rows":            resampled(manyRows),
		"rounded-once":         resampled(roundedOnce),
		"rounded-each":         (*suite).roundedEach,
		"rows":                 (*suite).rows,
		"wrong-rows":           (*suite).wrongRows,
		"windows":              (*suite).windows,
		"clips":                (*suite).clips,
		"searches":             resampled(searches),
		"infinite-lines":       resampled(infiniteLines),
		"bad-timestamps":       resampled(badTimestamps),
		"ticks":                resampled(ticks),
		"turns":                resampled(turns),
		"window-nan":           (*suite).windowNaN,
		"window-lengths":       (*suite).windowLengths,
		"window-beside-others": (*suite).windowBeside,
		"hermite":              (*suite).hermiteMotion,
		"rotvec":               (*suite).rotVecTurns,
		"rot6d":                (*suite).rot6DTurns,
		"no-rotation":          (*suite).noRotation,
		"poses":                resampled(poses),
		"beside-middles":       resampled(besideMiddles),
		"half-periods":         (*suite).halfPeriods,
		"far-angles":           resampled(farAngles),
		"near-turns":           resampled(nearTurns),
		"long-lengths":         resampled(longLengths),
		"no-weights":           resampled(noWeights),
		"tolerances":           resampled(tolerances),
		"held-parts":           resampled(heldParts),
		"empty-rows":           resampled(emptyRows),
		"many-items":           resampled(manyItems),
		"ready":                resampled(readyWays),
		"small":                resampled(smallLaunches),
		"small-ends":           resampled(smallLaunchEnds),
		"beyond-lines":         resampled(beyondLines),
		"cubics":               resampled(cubics),
		"steep-cubics":         resampled(steepCubics),
		"asking-nothing":       (*suite).askingNothing,
		"frames":               (*suite).frames,
		"snaps":                resampled(snaps),
		"held":                 (*suite).held,
		"good-timestamps":      resampled(goodTimestamps),
		"no-targets":           resampled(noTargets),
		"many-empty":           resampled(manyEmpty),
		"speculative":          resampled(everyOtherSample),
		"values":               (*suite).badValues,
		"golden":               (*suite).golden,
		"properties":           (*suite).properties,
		"generated":            generated("resample"),
	}
}

// largeParts returns the tests with jobs so large that a backend may switch to another algorithm. Few lists them too, because a device
// with one multiprocessor switches at smaller jobs.
func largeParts() parts {
	return parts{
		"voxels":    func(s *suite, t *testing.T) { s.largeVoxels(t, false) },
		"counted":   func(s *suite, t *testing.T) { s.largeVoxels(t, true) },
		"sorted":    (*suite).sortedVoxels,
		"grouped":   (*suite).groupedVoxels,
		"tally":     (*suite).tallyLarge,
		"integrate": (*suite).integrateLarge,
	}
}

package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/nntest"
	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/pins"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/ptx"
)

// samples has the counts of generated cases, by operation, from which a trial takes its cases.
var samples = map[string]int{"resample": 6000, "fuse": 1536, "backward": 1536, "voxel": 1920, "draw": 1600, "tally": 40, "frames": 800, "deproject": 400, "farthest": 400, "integrate": 300}

// partsOf lists the parts of the suite that compare results, by suite.
var partsOf = map[string][]string{
	"resample":  {"resample", "unaligned"},
	"fuse":      {"fuse", "unaligned"},
	"backward":  {"backward"},
	"voxel":     {"voxel", "doubles"},
	"draw":      {"draw"},
	"tally":     {"tally"},
	"frames":    {"frames"},
	"deproject": {"deproject"},
	"farthest":  {"farthest"},
	"integrate": {"integrate"},
}

// fewOf lists the parts that run again on a device with one multiprocessor, where small jobs use the code for large ones.
var fewOf = map[string][]string{
	"resample": {"unaligned", "resample/speculative"}, "fuse": {"unaligned"}, "backward": {"backward/edges", "backward/shapes", "backward/tiles", "backward/dtypes"},
	"voxel": {"large/voxels", "large/counted", "large/sorted", "large/grouped"}, "draw": {"draw/values"}, "tally": {"large/tally"}, "integrate": {"large/integrate"}, "frames": {"frames/generated", "frames/several groups in a thread"},
}

// manyOf lists the parts with blocks that wait for results of many earlier blocks if there are many multiprocessors.
var manyOf = map[string][]string{"voxel": {"large/sorted"}}

// trial is a task in progress.
type trial struct {
	Task
	replaced bool
	wanted   map[string]bool // the task's generated cases
	found    *Coverage
	asked    int    // number of generated cases seen so far
	at       string // the generated case that is running; empty if another case runs
}

// TestTrial runs the task from the environment, for the command mutants. It does nothing if there is none.
func TestTrial(t *testing.T) {
	name := os.Getenv(TaskEnv)
	if name == "" {
		return
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	r := &trial{}
	require.NoError(t, json.Unmarshal(text, &r.Task))
	if r.Coverage != "" {
		r.found = newCoverage()
	} else {
		// The mutant replaces the family's only image, so the driver must not select another one.
		t.Setenv("ROBOCACHE_KERNELS", "sm_90.ptx")
	}
	r.wanted = set(r.Cases)
	if n := samples[r.Suite]; n > 0 && (len(r.Cases) > 0 || r.found != nil) {
		// With one multiprocessor, jobs are divided as larger ones are elsewhere.
		for i, few := range []bool{false, true} {
			r.on(t, []string{"drawn", "drawn-few"}[i], 1, few, func(t *testing.T, dev *ops.Device) {
				sample := opstest.NewSample(t, dev, r.Suite)
				for number := range n {
					if number/8%2 == i && r.pick(strconv.Itoa(number)) {
						sample.Run(t, number)
					}
				}
			})
		}
	}
	networks := partsOf[r.Suite] == nil
	if networks {
		for i, few := range []bool{false, true} {
			r.on(t, []string{"suite", "few"}[i], uint64(i), few, func(t *testing.T, dev *ops.Device) {
				nntest.Pick(t, dev, func(name string) bool { return !nntest.Long(name) && r.pick(name) }, r.Suite)
			})
		}
	}
	r.at = ""
	switch {
	case r.Shard > 0 || networks:
	default:
		r.parts(t, "suite", 0, false, partsOf[r.Suite])
		r.parts(t, "few", 0, true, fewOf[r.Suite])
		if many := manyOf[r.Suite]; many != nil {
			r.parts(t, "many", 1, false, many)
		}
	}
	counted := networks || slices.Contains(pins.Operations(), r.Suite)
	if r.found == nil {
		require.True(t, r.replaced || r.Line == 0, "the suite never loaded the family")
		if !counted {
			return
		}
		t.Run("work", func(t *testing.T) {
			did, err := pins.Count(pinned(r.Suite), r.config())
			require.NoError(t, err)
			require.Equal(t, r.Work, did)
		})
		return
	}
	if r.Shard == 0 && counted {
		r.found.Work, err = pins.Count(pinned(r.Suite), cudasim.Config{})
		require.NoError(t, err)
	}
	require.False(t, t.Failed(), "good kernels")
	var out bytes.Buffer
	require.NoError(t, gob.NewEncoder(&out).Encode(r.found))
	require.NoError(t, os.WriteFile(r.Coverage, out.Bytes(), 0o644))
}

// pick reports whether a generated case belongs to the task. All do if the task records coverage.
func (r *trial) pick(name string) bool {
	r.at = name
	if r.asked++; r.found != nil && r.asked%shards != r.Shard {
		return false
	}
	if r.found != nil {
		r.found.Cases = append(r.found.Cases, name)
		return true
	}
	return r.wanted[name]
}

// config returns the configuration for a device, with the task's defect if it has one.
func (r *trial) config() cudasim.Config {
	conf := cudasim.Config{Lines: r.found != nil, MaxSteps: 1 << 26}
	if r.Line > 0 {
		image := imageOf(r.Family)
		conf.Rewrite = func(text []byte) []byte {
			if !bytes.Equal(bytes.TrimRight(text, "\x00"), image) {
				return text
			}
			r.replaced = true
			return replaceLine(image, r.Line, r.New)
		}
	}
	return conf
}

// parts runs parts of the suite on a new device.
func (r *trial) parts(t *testing.T, name string, seed uint64, few bool, parts []string) {
	r.on(t, name, seed, few, func(t *testing.T, dev *ops.Device) { opstest.Run(t, dev, opstest.Config{}, parts...) })
}

// on runs a test on a new device.
func (r *trial) on(t *testing.T, name string, seed uint64, few bool, run func(*testing.T, *ops.Device)) {
	t.Run(name, func(t *testing.T) {
		conf := r.config()
		conf.Seed = seed
		if few {
			conf.Multiprocessors = 1
		}
		d := cudasim.New(conf)
		d.Observe(r.saw)
		b, err := sim.New(d)
		require.NoError(t, err)
		dev, err := ops.NewDevice(b)
		require.NoError(t, err)
		defer func() { assert.NoError(t, dev.Close()) }()
		run(t, dev)
	})
}

// set returns a set of names.
func set(names []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

// saw records the lines that a launch executed.
func (r *trial) saw(l *cudasim.Launch) {
	family, _, ok := ptx.Lookup(l.Kernel)
	if r.found == nil || !ok {
		return
	}
	lines, at := r.found.Lines[family], r.found.At[family]
	if lines == nil {
		lines, at = map[int]bool{}, map[int][]int32{}
		r.found.Lines[family], r.found.At[family] = lines, at
	}
	number := int32(len(r.found.Cases) - 1)
	for n, times := range l.Counters.Lines {
		if times == 0 {
			continue
		}
		lines[n] = true
		if list := at[n]; r.at != "" && (len(list) == 0 || list[len(list)-1] != number) {
			at[n] = append(list, number)
		}
	}
}

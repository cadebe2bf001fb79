package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/robocache/robocache/internal/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// The plan that is written for a recording is taken as it is by the commands that take plans.
func TestAPlanOfEachRecordingRunsUnchanged(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	type recorded struct {
		path    string
		args    []string
		several bool // episodes
		action  string
	}
	list := []recorded{
		{path: flight}, {path: "../../examples/data/turtles.bag"}, {path: "../../examples/data/turtles.bag", action: "/turtle1/cmd_vel"}, {path: "../../examples/data/g1", several: true},
		{path: "../../dataset/rlds/testdata/kinds", args: []string{"--rate=10"}, several: true},
		{path: "../../dataset/robomimic/testdata/kinds.hdf5", several: true}, {path: "../../dataset/calvin/testdata/small", several: true},
		{path: "../../dataset/aloha/testdata/raw.hdf5", args: []string{"--rate=50"}},
	}
	for _, name := range []string{"bridge_rlds", "lerobot_v21_g1", "lerobot_v2_gr1_sim", "lerobot_studio/lerobotv3", "tum_rgbd"} {
		list = append(list, recorded{path: "../../../shared/data/" + name, several: true})
	}
	for _, name := range []string{"mcap_generated/robot_protobuf_zstd_unordered.mcap", "mcap_generated/imu_json_unchunked.mcap", "rosbag2_sqlite/cdr_test", "tum_vi"} {
		list = append(list, recorded{path: "../../../shared/data/" + name})
	}
	for _, c := range list {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			if _, err := os.Stat(c.path); err != nil {
				t.Skip("the shared recordings are not here: ", c.path)
			}
			plan, out := filepath.Join(t.TempDir(), "plan.yaml"), filepath.Join(t.TempDir(), "o.npz")
			stdout, _ := good(t, append([]string{"plan", c.path, "-o", plan, "--json", "--action", c.action}, c.args...)...)
			made := unmarshal(t, stdout)
			text, err := os.ReadFile(plan)
			require.NoError(t, err)
			assert.Equal(t, string(text), made["plan"])
			common := append([]string{"--plan", plan, "--backend=cpu"}, c.args...)
			one := common
			if c.several {
				one = append([]string{"--episode=0"}, common...)
			}
			for _, command := range []string{"resample", "fuse"} {
				_, stderr := good(t, append([]string{command, c.path, "-o", out}, one...)...)
				assert.NotContains(t, stderr, "no effect")
			}
			good(t, append([]string{"convert", c.path, "-o", filepath.Join(t.TempDir(), "out"), "--to=safetensors"}, common...)...)
			good(t, append([]string{"batches", c.path, "--batch=2", "--steps=1"}, common...)...)
			if made["policy"] == true {
				_, stderr := good(t, append([]string{"train", c.path, "--batch=2", "--steps=1"}, common...)...)
				assert.Contains(t, stderr, "normalise in the plan is left out")
			}
		})
	}
}

// TestDocumentsDoWhatTheySay compares the README's table with the quickstart's.
func TestAStreamHasOneRateEverywhere(t *testing.T) {
	const flight, name = "../../examples/data/flight.ulg", "actuator_controls_0"
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	quickstart := regexp.MustCompile(name + ` +1812 +([0-9.]+) Hz`).FindStringSubmatch(string(readme))
	require.NotNil(t, quickstart)
	rate := func(args ...string) string {
		stdout, _ := good(t, append(args, "--json")...)
		for _, s := range unmarshal(t, stdout)["streams"].([]any) {
			if s := s.(map[string]any); s["name"] == name {
				return fmt.Sprintf("%.1f", s["rate_hz"])
			}
		}
		return ""
	}
	assert.Equal(t, quickstart[1], rate("inspect", flight))
	assert.Equal(t, quickstart[1], rate("resample", flight, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=50", "--stream="+name, "--backend=cpu"))
	plan, _ := good(t, "plan", flight)
	comment := regexp.MustCompile(`# ([0-9.]+) Hz, .*\n(?:  #.*\n)*  - name: ` + name + `\n`).FindStringSubmatch(plan)
	require.NotNil(t, comment)
	want, err := strconv.ParseFloat(quickstart[1], 64)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("%.3g", want), comment[1])
}

func TestPlanPrintsWhereNoFileIsNamedAndRefusesWhatCannotBe(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	stdout, _ := good(t, "plan", flight)
	assert.True(t, strings.HasPrefix(stdout, "# A first plan for sample_log_small (ulog)"))
	path := filepath.Join(t.TempDir(), "plan.yaml")
	said, _ := good(t, "plan", flight, "-o", path)
	assert.Contains(t, said, "wrote "+path+": 100 Hz, 16 streams; ")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, stdout, string(text))

	stdout, _ = good(t, "plan", flight, "-o", path, "--json")
	s := readSchema(t, schema.Plan)
	assert.Equal(t, allKeys(&s), keys(unmarshal(t, stdout)))

	for want, args := range map[string][]string{
		"want --rate":                      {"plan", "../../dataset/aloha/testdata/raw.hdf5"},
		"--action: no stream \"cmd\"":      {"plan", flight, "--action=cmd"},
		"plan takes one recording":         {"plan"},
		"is the input":                     {"plan", flight, "-o", flight},
		"--rate: got 5, want none: ":       {"plan", flight, "--rate=5"},
		"no such file":                     {"plan", "none.ulg", "-o", path},
		"no stream that can be put on a":   {"plan", writeLog(t)},
		"write " + path + "/x/plan.yaml: ": {"plan", flight, "-o", path + "/x/plan.yaml"},
	} {
		code, _, stderr := execute(args...)
		assert.NotEqual(t, exitGood, code, args)
		assert.Contains(t, stderr, want, args)
	}
}

func TestAPlanIsMadeForAStoreToo(t *testing.T) {
	store := filepath.Join(t.TempDir(), "g1.safetensors")
	good(t, "pack", "../../examples/data/g1", "-o", store)
	of, _ := good(t, "plan", "../../examples/data/g1")
	stdout, _ := good(t, "plan", store)
	cut := func(s string) string { return s[strings.Index(s, "version:"):strings.Index(s, "windows:")] }
	assert.Equal(t, cut(of), cut(stdout))
	code, _, stderr := execute("plan", store, "--rate=5")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--rate: got 5, want none: "+store+" is a store, which has its times")
}

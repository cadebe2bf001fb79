package rosbag

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// golden is what scripts/gen_rosbag_golden.py says of a bag.
type golden struct {
	Connections, Messages int
	Topics                map[string]struct { // by topic and type, with a space between
		Messages    int
		First, Last int64
		Sums        map[string]float64
	}
}

// bags are those with goldens, by path: the small ones, and the shared recordings where they are.
func bags(t *testing.T) map[string]golden {
	read := func(name string, into any) {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, into))
	}
	var small golden
	read("small.json", &small)
	list := map[string]golden{}
	for _, compression := range []string{"none", "bz2", "lz4"} {
		list["testdata/small-"+compression+".bag"] = small
	}
	shared := map[string]golden{}
	read("shared.json", &shared)
	require.Len(t, shared, 4)
	for name, g := range shared {
		if path := filepath.Join("../../../shared/data/ros1_bag", name); exists(path) {
			list[path] = g
		}
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestEveryMessageIsThereAsROSReadsIt(t *testing.T) {
	for path, want := range bags(t) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		list, damage := parse(t, data)
		assert.Empty(t, damage, path)
		assert.Len(t, list, want.Messages, path)
		slices.SortStableFunc(list, func(a, b told) int { return int(a.time - b.time) })
		for topic, w := range want.Topics {
			of := slices.DeleteFunc(slices.Clone(list), func(m told) bool { return m.topic+" "+m.kind != topic })
			require.Len(t, of, w.Messages, "%s %s", path, topic)
			assert.Equal(t, w.First, of[0].time)
			assert.Equal(t, w.Last, of[len(of)-1].time)
		}
	}
}

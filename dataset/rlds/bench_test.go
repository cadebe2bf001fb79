package rlds

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
)

// typical is an episode as the datasets of Open X-Embodiment have them: a state, an action of 7, a reward, flags and language, and images of 20 kB of
// cameras.
func typical(rng *rand.Rand, steps, state, cameras int) example {
	floats := func(n int) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = rng.Float32()
		}
		return list
	}
	first, last, language := make([]int64, steps), make([]int64, steps), make([]string, steps)
	for i := range language {
		language[i] = "put the cup from the counter into the sink"
	}
	first[0], last[steps-1] = 1, 1
	e := example{
		"steps/observation/state": floats(steps * state), "steps/action": floats(steps * 7), "steps/reward": floats(steps), "steps/discount": floats(steps),
		"steps/is_first": first, "steps/is_last": last, "steps/is_terminal": last, "steps/language_instruction": language, "id": []int64{7},
	}
	for c := range cameras {
		list := make([]string, steps)
		for i := range list {
			b := make([]byte, 20_000)
			for k := range b {
				b[k] = byte(rng.Uint32())
			}
			copy(b, "\xff\xd8\xff")
			list[i] = string(b)
		}
		e[fmt.Sprintf("steps/observation/image_%d", c)] = list
	}
	return e
}

// typicalFeatures are those of typical.
func typicalFeatures(state, cameras int) string {
	all := map[string]string{"action": array("float32", 7), "reward": array("float32"), "discount": array("float32"), "is_first": array("bool"),
		"is_last": array("bool"), "is_terminal": array("bool"), "language_instruction": class("Text", "")}
	observation := map[string]string{"state": array("float32", state)}
	for c := range cameras {
		observation[fmt.Sprintf("image_%d", c)] = picture("uint8", "jpeg", 128, 128, 3)
	}
	all["observation"] = dict(observation)
	return stepsOf(all)
}

// Records of BridgeData V2: 7 numbers of state, 512 of a language embedding and four images of 64x64.
func BenchmarkBridge(b *testing.B) {
	const dir = "../../../shared/data/bridge_rlds"
	if _, err := os.Stat(dir); err != nil {
		b.Skip("no shared recordings beside the project: bridge_rlds")
	}
	s := open(b, dir, Options{})
	size := int64(0)
	for _, r := range s.shards[0].records {
		size += r.size
	}
	b.SetBytes(size / int64(s.Len()))
	i := 0
	for b.Loop() {
		settest.Episode(b, s, i%s.Len())
		i++
	}
}

// Bytes are those of the records, which the system has in memory after the first round. Images are not asked for. ROBOCACHE_RLDS_DIR is a folder that
// keeps the datasets, for other programs to read.
func BenchmarkEpisode(b *testing.B) {
	for _, c := range []struct{ steps, state, cameras int }{{100, 7, 0}, {300, 7, 0}, {100, 26, 0}, {300, 26, 0}, {100, 7, 2}} {
		b.Run(fmt.Sprintf("T=%d/D=%d/cameras=%d", c.steps, c.state, c.cameras), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			var list [][]byte
			size := 0
			for range 20 {
				list = append(list, typical(rng, c.steps, c.state, c.cameras).bytes())
				size += len(list[len(list)-1])
			}
			files := map[string]string{infoFile: info(len(list)), featuresFile: typicalFeatures(c.state, c.cameras), onlyShard: string(recordsOf(list...))}
			dir := b.TempDir()
			if root := os.Getenv("ROBOCACHE_RLDS_DIR"); root != "" {
				dir = filepath.Join(root, fmt.Sprintf("T=%d_D=%d_cameras=%d", c.steps, c.state, c.cameras))
				require.NoError(b, os.MkdirAll(dir, 0o700))
			}
			for name, text := range files {
				filetest.Write(b, filepath.Join(dir, name), text)
			}
			s := open(b, dir, Options{Strict: true})
			b.SetBytes(int64(size / len(list)))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				settest.Episode(b, s, i%len(list))
				i++
			}
		})
	}
}

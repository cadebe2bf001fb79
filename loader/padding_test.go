package loader_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// sampled is a case of testdata/diffusion_policy.json, which scripts/gen_padding_golden.py has written.
type sampled struct {
	Length, Horizon, Observed, Acted int
	Sequences                        []struct {
		Anchor int64
		Steps  []float32
	}
}

func TestAPlanFileSaysHowFarWindowsMayReach(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(path, []byte("version: 1\nrate: 10\nwindows:\n  action: [-0.1, 1.5]\npadding: diffusion_policy\npad_after: 700ms\n"), 0o600))
	p, err := planfile.Read(path)
	require.NoError(t, err)
	assert.Equal(t, 20-7, p.Anchors(20), "14 steps ahead of the anchor, of which 7 may lie behind the end")
	assert.Equal(t, 0, p.Anchors(7))
}

// With the padding diffusion_policy the windows are the sequences of that project's sampler, and no others, each with the samples that it has there.
func TestDiffusionPolicyHasItsSequences(t *testing.T) {
	text, err := os.ReadFile("testdata/diffusion_policy.json")
	require.NoError(t, err)
	var all []sampled
	require.NoError(t, json.Unmarshal(text, &all))
	require.Equal(t, 63, len(all))
	ctx := context.Background()
	for len(all) > 0 {
		first, n := all[0], 0
		for n < len(all) && all[n].Horizon == first.Horizon && all[n].Observed == first.Observed && all[n].Acted == first.Acted {
			n++
		}
		cases := all[:n]
		all = all[n:]
		var m made
		windows, ticks := 0, 0
		for i, c := range cases {
			times, values := make([]int64, c.Length), make([]float32, c.Length)
			for k := range values {
				times[k], values[k] = int64(k)*1e8, float32(k)
			}
			e := &dataset.Episode{Name: fmt.Sprint(i)}
			for _, name := range []string{"state", "action"} {
				s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, c.Length, 1)), nil)
				require.NoError(t, err)
				e.Streams = append(e.Streams, s)
			}
			m = append(m, e)
			windows, ticks = windows+len(c.Sequences), ticks+c.Length
		}
		step := func(n int) time.Duration { return time.Duration(n) * 100 * time.Millisecond }
		p := align.Plan{Rate: 10, Shuffle: "none", Padding: "diffusion_policy", PadAfter: ops.Within(step(first.Acted - 1)), Windows: map[string]align.Window{
			"state": {From: step(-first.Observed)}, "action": {From: step(1 - first.Observed), To: step(first.Horizon - first.Observed + 1)}}}
		l := load(t, "cpu", m, p, loader.Options{Batch: 1})
		require.Equal(t, windows, l.Report().Windows)
		require.Equal(t, ticks-windows, l.Report().Unanchored)
		for i, c := range cases {
			require.Equal(t, len(c.Sequences), l.Windows(int64(i)))
			for _, s := range c.Sequences {
				require.NoError(t, l.Next(ctx))
				b, err := l.Batch().Host(ctx)
				require.NoError(t, err)
				require.EqualValues(t, i, data[int64](t, b.Episodes)[0])
				require.Equal(t, s.Anchor, data[int64](t, b.Ticks)[0])
				require.Equal(t, s.Steps, data[float32](t, b.Stream("action").Values))
				require.Equal(t, s.Steps[:c.Observed], data[float32](t, b.Stream("state").Values))
			}
		}
	}
}

func TestPadAfterIsOfDiffusionPolicyAndNoMoreThanWindowsReach(t *testing.T) {
	for _, c := range []struct {
		padding string
		after   ops.Limit
		want    string
	}{
		{"diffusion_policy", ops.Limit{}, "pad_after: got none"},
		{"lerobot", ops.Within(0), "pad_after: got 0s, want none, unless padding is diffusion_policy"},
		{"diffusion_policy", ops.Within(300 * time.Millisecond), "pad_after: got 300ms, want 0s to 280ms"},
		{"diffusion_policy", ops.Within(280 * time.Millisecond), ""},
	} {
		p := plan()
		p.Padding, p.PadAfter = c.padding, c.after
		err := p.Check()
		if c.want == "" {
			assert.NoError(t, err)
			assert.Equal(t, 9, p.Anchors(9), "all that there are")
			continue
		}
		require.ErrorIs(t, err, ops.ErrOption)
		assert.ErrorContains(t, err, c.want)
	}
}

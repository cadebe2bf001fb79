package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// account is the counts of windows in --json, by episode and in total.
type account struct {
	Windows   int              `json:"windows"`
	Drawn     int              `json:"windows_drawn"`
	Undrawn   int              `json:"windows_dropped"`
	Unfilled  int              `json:"rows_missing"`
	Padded    int              `json:"padded"`
	Invalid   int              `json:"invalid"`
	Steps     int              `json:"steps"`
	ByEpisode []episodeWindows `json:"by_episode"`
}

// accountOf runs batches, and checks that the sums over its episodes equal the totals.
func accountOf(t *testing.T, args ...string) account {
	t.Helper()
	stdout, stderr := good(t, append([]string{"batches", kindsRLDS, "--rate=10", "--hz=30", "--seed=5", "--backend=cpu", "--json", "--stream=action", "--stream=reward", "--window=action=-100ms:200ms"}, args...)...)
	require.Empty(t, stderr)
	var a account
	require.NoError(t, json.Unmarshal([]byte(stdout), &a))
	var sum episodeWindows
	for _, e := range a.ByEpisode {
		sum.Windows += e.Windows
		sum.Drawn += e.Drawn
		sum.Dropped += e.Dropped
		sum.Padded += e.Padded
		sum.Invalid += e.Invalid
	}
	require.Equal(t, episodeWindows{Windows: a.Windows, Drawn: a.Drawn, Dropped: a.Undrawn, Padded: a.Padded, Invalid: a.Invalid}, sum)
	return a
}

// add sums the counts of several runs. Each rank counts all dropped windows, so they are taken from one rank.
func (a *account) add(b account, dropped bool) {
	a.Drawn, a.Unfilled, a.Padded, a.Invalid = a.Drawn+b.Drawn, a.Unfilled+b.Unfilled, a.Padded+b.Padded, a.Invalid+b.Invalid
	if a.ByEpisode == nil {
		a.ByEpisode = make([]episodeWindows, len(b.ByEpisode))
	}
	if dropped {
		a.Undrawn += b.Undrawn
	}
	for i, e := range b.ByEpisode {
		to := &a.ByEpisode[i]
		to.Number, to.Name, to.Windows = e.Number, e.Name, e.Windows
		to.Drawn, to.Padded, to.Invalid = to.Drawn+e.Drawn, to.Padded+e.Padded, to.Invalid+e.Invalid
		if dropped {
			to.Dropped += e.Dropped
		}
	}
}

// Over whole epochs each window is drawn or dropped, with one rank or several, in one run or resumed, for each rule of --last.
func TestEveryWindowIsAccountedForByEpisode(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	const epochs = 3
	whole := accountOf(t, "--batch=1", fmt.Sprintf("--epochs=%d", epochs))
	require.Equal(t, epochs*whole.Windows, whole.Drawn)
	require.Positive(t, whole.Padded)
	for _, last := range []string{"drop", "short"} {
		for _, c := range []struct{ world, batch, steps int }{{1, 7, 0}, {1, 5, 4}, {3, 4, 0}, {4, 3, 2}} {
			var got account
			for rank := range c.world {
				args := []string{"--last=" + last, fmt.Sprintf("--epochs=%d", epochs), fmt.Sprintf("--batch=%d", c.batch), fmt.Sprintf("--world=%d", c.world), fmt.Sprintf("--rank=%d", rank)}
				if c.steps == 0 {
					got.add(accountOf(t, args...), rank == 0)
					continue
				}
				args = append(args, "--state", filepath.Join(t.TempDir(), "state.json"), fmt.Sprintf("--steps=%d", c.steps))
				for {
					one := accountOf(t, args...)
					if got.add(one, rank == 0); one.Steps == 0 {
						break
					}
				}
			}
			assert.Equal(t, epochs*whole.Windows, got.Drawn+got.Undrawn, "%s %v", last, c)
			for _, e := range got.ByEpisode {
				assert.Equal(t, epochs*e.Windows, e.Drawn+e.Dropped, "%s %v episode %s", last, c, e.Name)
			}
			if last == "drop" {
				assert.Zero(t, got.Unfilled)
				continue
			}
			assert.Zero(t, got.Undrawn)
			for i, e := range got.ByEpisode {
				assert.Equal(t, whole.ByEpisode[i], e, "%v", c)
			}
		}
	}
	stdout, _ := good(t, "batches", kindsRLDS, "--rate=10", "--hz=30", "--batch=1", "--backend=cpu", "--stream=action", "--list")
	assert.Regexp(t, `(?m)^ +number +episode +windows +drawn +dropped +padded +invalid *$`, stdout)
	assert.Regexp(t, fmt.Sprintf(`(?m)^ +0 +train_0 +%d +%[1]d +0 +\d+ +\d+ *$`, whole.ByEpisode[0].Windows), stdout)
}

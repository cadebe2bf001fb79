package batching

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARankIsToldByFlagsThenByLaunchers(t *testing.T) {
	torchrun := map[string]string{"RANK": "1", "WORLD_SIZE": "2"}
	for _, c := range []struct {
		rank, world string // flags
		env         map[string]string
		want        Place
		err         string
	}{
		{want: Place{0, 1, ""}},
		{rank: "3", world: "4", want: Place{3, 4, "--rank and --world"}, env: torchrun},
		{env: torchrun, want: Place{1, 2, "RANK and WORLD_SIZE"}},
		{env: map[string]string{"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}, want: Place{5, 8, "SLURM_PROCID and SLURM_NTASKS"}},
		{env: map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "RANK": "1", "WORLD_SIZE": "2"}, want: Place{1, 2, "RANK and WORLD_SIZE"}},
		{env: map[string]string{"RANK": "0", "WORLD_SIZE": "1", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, want: Place{1, 2, "SLURM_PROCID and SLURM_NTASKS"}},
		{env: map[string]string{"ROBOCACHE_RANK": "2", "ROBOCACHE_WORLD": "3", "RANK": "1", "WORLD_SIZE": "2"}, want: Place{2, 3, "ROBOCACHE_RANK and ROBOCACHE_WORLD"}},
		{env: map[string]string{"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, err: "RANK and WORLD_SIZE: got rank 1 of 2, where SLURM_PROCID and SLURM_NTASKS set rank 0 of 2"},
		{env: map[string]string{"RANK": "2", "WORLD_SIZE": "2"}, err: `got "2" of "2"`},
		{env: map[string]string{"SLURM_PROCID": "0"}, want: Place{0, 1, ""}},
		{env: map[string]string{"RANK": "2"}, err: `got "2" of ""`},
		{env: map[string]string{"WORLD_SIZE": "2"}, err: `got "" of "2"`},

		// --world alone
		{world: "3", err: "world: got 3 without --rank"},
		{world: "1", want: Place{0, 1, ""}},
		{world: "0", want: Place{0, 0, ""}}, // which is refused later
		{world: "2", env: torchrun, want: Place{1, 2, "RANK and WORLD_SIZE"}},
		{world: "3", env: torchrun, err: "world: got 3, where RANK and WORLD_SIZE set rank 1 of 2"},
		{world: "1", env: torchrun, err: "world: got 1, where RANK and WORLD_SIZE set rank 1 of 2"},
		{world: "3", env: map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, err: "world: got 3 without --rank"},
		{world: "3", env: map[string]string{"RANK": "2"}, want: Place{2, 3, "RANK and --world"}},
		{world: "2", env: map[string]string{"RANK": "2"}, err: `got "2" of ""`},

		// --rank alone
		{rank: "0", err: "rank: got 0 without --world"},
		{rank: "1", env: torchrun, want: Place{1, 2, "RANK and WORLD_SIZE"}},
		{rank: "0", env: torchrun, err: "rank: got 0, where RANK and WORLD_SIZE set rank 1 of 2"},
		{rank: "2", env: map[string]string{"WORLD_SIZE": "3"}, want: Place{2, 3, "--rank and WORLD_SIZE"}},
		{rank: "3", env: map[string]string{"WORLD_SIZE": "3"}, err: `of "3", want a rank`},

		// Kubernetes
		{world: "4", env: map[string]string{"JOB_COMPLETION_INDEX": "3"}, want: Place{3, 4, "JOB_COMPLETION_INDEX and --world"}},
		{world: "3", env: map[string]string{"JOB_COMPLETION_INDEX": "3"}, err: "JOB_COMPLETION_INDEX: got 3, want less than --world, 3"},
		{world: "3", env: map[string]string{"JOB_COMPLETION_INDEX": "x"}, err: `JOB_COMPLETION_INDEX: got "x"`},
		{world: "2", env: map[string]string{"JOB_COMPLETION_INDEX": "0", "RANK": "1", "WORLD_SIZE": "2"}, want: Place{1, 2, "RANK and WORLD_SIZE"}},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "3", "ROBOCACHE_WORLD": "4"}, want: Place{3, 4, "JOB_COMPLETION_INDEX and ROBOCACHE_WORLD"}},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "4", "ROBOCACHE_WORLD": "4"}, err: `JOB_COMPLETION_INDEX and ROBOCACHE_WORLD: got "4" of "4"`},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "3"}, want: Place{0, 1, ""}},
		{env: map[string]string{"ROBOCACHE_WORLD": "4"}, err: `got "" of "4"`},
	} {
		flag := func(text string) *int {
			if text == "" {
				return nil
			}
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			return &n
		}
		got, err := PlaceOf(flag(c.rank), flag(c.world), func(name string) string { return c.env[name] }, func(arg string) string { return "--" + arg })
		if c.err != "" {
			assert.ErrorContains(t, err, c.err, "%+v", c)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%+v", c)
	}
}

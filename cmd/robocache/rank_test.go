package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARankIsToldByFlagsThenByLaunchers(t *testing.T) {
	for _, c := range []struct {
		env   map[string]string
		given bool
		want  place
		err   string
	}{
		{want: place{0, 1, ""}},
		{given: true, want: place{3, 4, "--rank and --world"}, env: map[string]string{"RANK": "1", "WORLD_SIZE": "2"}},
		{env: map[string]string{"RANK": "1", "WORLD_SIZE": "2"}, want: place{1, 2, "RANK and WORLD_SIZE"}},
		{env: map[string]string{"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}, want: place{5, 8, "SLURM_PROCID and SLURM_NTASKS"}},
		{env: map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "RANK": "1", "WORLD_SIZE": "2"}, want: place{1, 2, "RANK and WORLD_SIZE"}},
		{env: map[string]string{"RANK": "0", "WORLD_SIZE": "1", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, want: place{1, 2, "SLURM_PROCID and SLURM_NTASKS"}},
		{env: map[string]string{"ROBOCACHE_RANK": "2", "ROBOCACHE_WORLD": "3", "RANK": "1", "WORLD_SIZE": "2"}, want: place{2, 3, "ROBOCACHE_RANK and ROBOCACHE_WORLD"}},
		{env: map[string]string{"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, err: "RANK and WORLD_SIZE say rank 1 of 2, SLURM_PROCID and SLURM_NTASKS 0 of 2"},
		{env: map[string]string{"RANK": "2", "WORLD_SIZE": "2"}, err: `got "2" of "2"`},
		{env: map[string]string{"SLURM_PROCID": "0"}, want: place{0, 1, ""}},
		{env: map[string]string{"RANK": "2"}, err: `got "2" of ""`},
	} {
		got, err := placeOf(3, 4, c.given, func(name string) string { return c.env[name] })
		if c.err != "" {
			assert.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	t.Setenv("RANK", "1")
	t.Setenv("WORLD_SIZE", "3")
	_, stderr := good(t, "batches", kindsRLDS, "--hz=20", "--rate=10", "--batch=1", "--backend=cpu", "--stream=action", "--digest")
	assert.Contains(t, stderr, "rank 1 of 3, by RANK and WORLD_SIZE")
}

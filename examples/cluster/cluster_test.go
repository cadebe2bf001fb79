package cluster_test

import (
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// job is what a manifest must say.
type job struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Spec       struct {
		CompletionMode       string `yaml:"completionMode"`
		Completions          int
		Parallelism          int
		BackoffLimitPerIndex int `yaml:"backoffLimitPerIndex"`
		PodFailurePolicy     struct {
			Rules []struct {
				Action      string
				OnExitCodes struct {
					Operator string
					Values   []int
				} `yaml:"onExitCodes"`
			}
		} `yaml:"podFailurePolicy"`
		Template struct {
			Spec struct {
				RestartPolicy string `yaml:"restartPolicy"`
				Containers    []container
				Volumes       []struct{ Name string }
			}
		}
	}
}

type container struct {
	Command   []string
	Env       []struct{ Name string }
	Resources struct {
		Limits map[string]string
	}
	VolumeMounts []struct{ Name string } `yaml:"volumeMounts"`
}

func manifest(t *testing.T, name string) (j job, c container) {
	t.Helper()
	text := filetest.Read(t, name)
	require.NoError(t, yaml.Unmarshal(text, &j))
	assert.Equal(t, "batch/v1 Job", j.APIVersion+" "+j.Kind)
	s := &j.Spec
	assert.Equal(t, "Indexed", s.CompletionMode)
	assert.Equal(t, s.Completions, s.Parallelism)
	assert.Positive(t, s.BackoffLimitPerIndex)
	assert.Equal(t, "Never", s.Template.Spec.RestartPolicy, "which podFailurePolicy wants")
	require.NotEmpty(t, s.PodFailurePolicy.Rules)
	assert.Equal(t, "FailIndex", s.PodFailurePolicy.Rules[0].Action)
	assert.Equal(t, []int{2, 3}, s.PodFailurePolicy.Rules[0].OnExitCodes.Values, "the exit codes of what only fails again")
	require.Len(t, s.Template.Spec.Containers, 1)
	c = s.Template.Spec.Containers[0]
	for _, m := range c.VolumeMounts {
		assert.True(t, slices.ContainsFunc(s.Template.Spec.Volumes, func(v struct{ Name string }) bool { return v.Name == m.Name }), m.Name)
	}
	assert.Len(t, s.Template.Spec.Volumes, len(c.VolumeMounts))
	return j, c
}

// flag returns the value of a flag in a command.
func flag(command []string, name string) string {
	if i := slices.Index(command, name); i >= 0 && i+1 < len(command) {
		return command[i+1]
	}
	return ""
}

func TestPackingPodsPackAShardEach(t *testing.T) {
	j, c := manifest(t, "pack-job.yaml")
	assert.Equal(t, []string{"robocache", "pack"}, c.Command[:2])
	assert.Equal(t, "8", flag(c.Command, "--shards"))
	assert.Equal(t, 8, j.Spec.Completions, "as many pods as shards")
	assert.Empty(t, c.Env, "the index is told by Kubernetes itself, JOB_COMPLETION_INDEX")
}

func TestDrawingPodsAreARankEach(t *testing.T) {
	j, c := manifest(t, "batches-job.yaml")
	assert.Equal(t, []string{"robocache", "batches"}, c.Command[:2])
	assert.Equal(t, "4", flag(c.Command, "--world"))
	assert.Equal(t, 4, j.Spec.Completions, "as many pods as ranks")
	assert.Empty(t, c.Env, "the rank is told by Kubernetes itself, JOB_COMPLETION_INDEX")
	assert.Equal(t, "1", c.Resources.Limits["nvidia.com/gpu"])
	assert.NotEmpty(t, flag(c.Command, "--state"))
}

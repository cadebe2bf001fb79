package policy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/policy"
)

// Columns of the action that the recording, or their names, say to be of a quaternion are told, and no others.
func TestQuaternionsAmongTheActionsAreTold(t *testing.T) {
	named := func(names ...string) (list []dataset.Column) {
		for _, name := range names {
			list = append(list, dataset.Column{Name: name})
		}
		return list
	}
	said := named("a", "b", "c", "d", "seq")
	for i := range 4 {
		said[i].Rotation = dataset.RotationWXYZ
	}
	for name, c := range map[string]struct {
		columns []dataset.Column
		plan    string
		want    []string
	}{
		"said":           {said, "", []string{"a", "b", "c", "d"}},
		"named":          {named("x", "qx", "qy", "qz", "ee_qw", "gripper"), "", []string{"qx", "qy", "qz", "ee_qw"}},
		"by the word":    {named("x", "left_Quat_0", "left_Quat_1"), "", []string{"left_Quat_0", "left_Quat_1"}},
		"none":           {named("seqx", "torque", "qpos", "q1"), "", nil},
		"said elsewhere": {said, "version: 1\nrate: 30\nstreams:\n  - name: state\n  - {name: actions, from: action}\n", []string{"a", "b", "c", "d"}},
	} {
		d := made{&dataset.Episode{Name: "e", Streams: []dataset.Stream{
			table(t, "state", 70, joints, func(row, j int) float64 { return float64(row % (3 + j)) }),
			table(t, "action", 70, c.columns, func(row, j int) float64 { return float64((row+j)%7)/7 + 0.1 }),
		}}}
		store := build(t, d)
		tr := trainer(t, "cpu", store, policy.Options{Steps: 1, Batch: 4, Plan: c.plan})
		got, err := tr.Config().Rotations(store)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
}

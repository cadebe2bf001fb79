package all_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// A topic that has names next to an array without numbers is left out, and costs no other topic.
func TestDynamicJointStateCrash(t *testing.T) {
	const folder = "../../../shared/cases/dynamic-joint-state-crash/"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	for file, want := range map[string]struct {
		streams []string
		left    string
	}{
		"dynamic.mcap": {[]string{"/temperature"}, "/dynamic_joint_states"},
		"dynamic.bag":  {[]string{}, "/x"},
	} {
		d, err := dataset.Open(t.Context(), folder+file, dataset.Options{Strict: true})
		require.NoError(t, err)
		e, err := d.Episode(t.Context(), 0)
		require.NoError(t, err, file)
		assert.Equal(t, want.streams, e.Names(), file)
		left := e.Notes.LeftOut(want.left)
		require.NotNil(t, left, file)
		assert.Equal(t, dataset.CodeArraysWithoutNumbers, left.Code, file)
		require.NoError(t, d.Close())
	}
}

package loader_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

func TestCloudsAreLeftOutAndSaid(t *testing.T) {
	s, err := dataset.NewStream("s", []int64{1, 2}, tensor.Must(tensor.New(tensor.F32, 2, 1)), nil)
	require.NoError(t, err)
	e := &dataset.Episode{Name: "e", Streams: []dataset.Stream{s}, Clouds: []dataset.CloudStream{{Name: "/points", Times: []int64{1}}}}
	packed := inMemory(t, made{e})
	require.Len(t, packed.Episodes[0].Notes, 1)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeCloudsNotPacked, Subject: "/points", Count: 1}}, packed.Episodes[0].Notes)
	_, err = store.Build(context.Background(), made{e}, store.BuildOptions{Media: []string{"/points"}})
	assert.ErrorContains(t, err, "episode e: clouds-not-packed")
}

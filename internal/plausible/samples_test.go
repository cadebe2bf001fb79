package plausible_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/plausible"
)

func TestSortedSamplesHaveNotes(t *testing.T) {
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeBackSteps, Subject: "s", Count: 2}, {Code: dataset.CodeTimeless, Subject: "s", Count: 3}}, plausible.Sorted("s", 2, 3))
	assert.Empty(t, plausible.Sorted("s", 0, 0))
}

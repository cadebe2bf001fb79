package dataset_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
)

func TestABrokenFileIsAFormatErrorThatIsSupported(t *testing.T) {
	_, broken := dataset.AsBroken(&dataset.FormatError{Kind: dataset.ErrUnsupported})
	assert.False(t, broken, "what is not supported is not broken")
	_, broken = dataset.AsBroken(errors.New("disk"))
	assert.False(t, broken)
	bad, broken := dataset.AsBroken(&dataset.FormatError{Kind: dataset.ErrCorrupt, Offset: 3})
	assert.True(t, broken)
	assert.EqualValues(t, 3, bad.Offset)
}

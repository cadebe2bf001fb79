package dataset_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
)

func TestDamageIsCountedByKind(t *testing.T) {
	var d dataset.Damages
	assert.Zero(t, d.Bytes())
	assert.Empty(t, d.String())
	d.Add("points", 16, &dataset.FormatError{Format: "pcd", Offset: 7, Kind: dataset.ErrTruncated, Msg: "binary data"})
	d.Add("messages", 0, &dataset.FormatError{Format: "ulog", Offset: -1, Msg: "one"})
	d.Add("points", 4, &dataset.FormatError{Format: "pcd", Offset: 99})
	d.SetPath("a.pcd")
	assert.EqualValues(t, 20, d.Bytes())
	assert.Equal(t, "points: 2, 20 bytes (first: pcd: a.pcd: byte 7: binary data: truncated); messages: 1 (ulog: a.pcd: one)", d.String())
	assert.Equal(t, "bytes", dataset.Damage{What: "bytes"}.String())

	_, broken := dataset.AsDamage(&dataset.FormatError{Kind: dataset.ErrUnsupported})
	assert.False(t, broken, "what is not supported is not broken")
	_, broken = dataset.AsDamage(errors.New("disk"))
	assert.False(t, broken)
	bad, broken := dataset.AsDamage(&dataset.FormatError{Kind: dataset.ErrCorrupt, Offset: 3})
	assert.True(t, broken)
	assert.EqualValues(t, 3, bad.Offset)
}

package loader_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
)

// What recordings say that bears on the streams is in the report once, with how many say it, whether they are packed or read meanwhile.
func TestALoaderSaysWhatItsRecordingsSay(t *testing.T) {
	ctx := context.Background()
	d := recordings(t)
	for _, i := range []int{0, 2, 5} {
		d[i].Remark("is by name", "state")
	}
	d[1].Remark("is sorted", "imu")
	d[1].Remark("has no header", "imu", "action")
	d[2].Remarks = append(d[2].Remarks, "took one of two clocks")
	d[3].Notes.AddDamage(dataset.CodeChunkBroken, 84066, nil)
	whole := []loader.Said{{"state: is by name", "e0", 3}, {"imu: is sorted", "e1", 1}, {"has no header: imu, action", "e1", 1}, {"took one of two clocks", "e2", 1}, {"lost: chunk-broken: 1, 84066 bytes", "e3", 1}}
	some := []loader.Said{whole[0], {"action: has no header", "e1", 1}, whole[3], whole[4]}
	built, opened, _ := saved(t, d, loader.BuildOptions{})
	for _, c := range []struct {
		streams []align.Stream
		want    []loader.Said
	}{{nil, whole}, {[]align.Stream{{Name: "s", From: "state"}, {Name: "action"}}, some}} {
		p := plan()
		p.Streams, p.Windows = c.streams, nil
		for _, store := range []*loader.Store{built, opened} {
			l, err := loader.New(ctx, open(t, "cpu"), store, p, loader.Options{Batch: 2})
			require.NoError(t, err)
			assert.Equal(t, c.want, l.Report().Said)
			require.NoError(t, l.Close())
		}
		p.Shuffle = "shards"
		assert.Equal(t, c.want, streamed(t, "cpu", d, p, loader.Options{Batch: 2}).Report().Said)
	}
	only, _, _ := saved(t, d, loader.BuildOptions{Streams: []string{"action"}})
	assert.Equal(t, []string{"action: has no header"}, only.Episodes[1].Remarks)
}

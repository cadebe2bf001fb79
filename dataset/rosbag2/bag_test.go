package rosbag2

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/topics"
	_ "github.com/robocache/robocache/dataset/rosbag2/sqlite"
)

func TestTry(t *testing.T) {
	dir := "../../../shared/data/rosbag2_sqlite"
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		ctx := context.Background()
		s, err := Open(ctx, dir+"/"+e.Name(), dataset.Options{})
		require.NoError(t, err)
		var damage dataset.Damages
		b, err := newBag(ctx, &s.cache, s.messages, s.files, &damage)
		require.NoError(t, err)
		n, bytes := 0, 0
		for p := range b.Parts() {
			require.NoError(t, b.Each(ctx, p, &damage, func(m topics.Message) error { n++; bytes += len(m.Data); return nil }))
		}
		fmt.Println(e.Name(), n, bytes, len(b.Channels()), b.distro, damage, s.metadata.disagreements(b), s.info.Problems)
		require.NoError(t, s.Close())
	}
}

package rosbag2

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/rosbag2/sqlite"
)

func TestTry(t *testing.T) {
	for _, dir := range []string{"../../../shared/data/rosbag2_sqlite", "../../../shared/data/rosbag2_mcap"} {
		list, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range list {
			if !e.IsDir() {
				continue
			}
			ctx := context.Background()
			s, err := dataset.Open(ctx, dir+"/"+e.Name(), dataset.Options{})
			require.NoError(t, err)
			for ep, err := range dataset.Episodes(ctx, s) {
				require.NoError(t, err)
				fmt.Println("==", dir, e.Name(), s.Format(), s.Info().Problems)
				for _, st := range ep.Streams {
					fmt.Println("  ", st.Name, st.Len(), len(st.Columns))
				}
				for _, l := range ep.LeftOut {
					fmt.Println("   left out", l.Name, l.Count, l.Reason)
				}
				fmt.Println("  ", ep.Remarks, ep.Damage, ep.Attributes)
			}
			require.NoError(t, s.Close())
		}
	}
}

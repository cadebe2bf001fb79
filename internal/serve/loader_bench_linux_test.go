package serve

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/loader"
)

// BenchmarkBatch makes batches, with the copy into a slot and without.
func BenchmarkBatch(b *testing.B) {
	for _, apart := range []bool{true, false} {
		l := loaderOfG1(b, loader.Options{Batch: 32, Apart: apart})
		lay, err := layoutOf(l, false)
		require.NoError(b, err)
		slot := make([]byte, lay.bytes)
		name := map[bool]string{true: "apart", false: "joined"}[apart]
		b.Run("next/"+name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, l.Next(context.Background()))
			}
		})
		if !apart {
			continue
		}
		b.Run("slot", func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, l.Next(context.Background()))
				require.NoError(b, lay.fill(slot, l))
			}
		})
		b.Run("copy", func(b *testing.B) {
			b.SetBytes(int64(lay.bytes))
			for b.Loop() {
				require.NoError(b, lay.fill(slot, l))
			}
		})
	}
}

package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// BenchmarkCopy brings bytes to the device and back: from pinned memory by a queue, one copy behind the other, and from Go's memory by calls that wait.
func BenchmarkCopy(b *testing.B) {
	dev, ctx := device(b), context.Background()
	queue := dev.Queue()
	for _, mib := range []int{1, 16, 256} {
		n := mib << 20
		pinned, err1 := dev.AllocHost(tensor.U8, n)
		onDevice, err2 := dev.Alloc(tensor.U8, n)
		pageable, err3 := tensor.New(tensor.U8, n)
		require.NoError(b, errors.Join(err1, err2, err3))
		for _, c := range []struct {
			name string
			copy func() error
		}{
			{"from=pinned", func() error { return queue.Copy(onDevice, pinned) }},
			{"to=pinned", func() error { return queue.Copy(pinned, onDevice) }},
			{"from=pageable", func() error { return dev.Copy(ctx, onDevice, pageable) }},
			{"to=pageable", func() error { return dev.Copy(ctx, pageable, onDevice) }},
		} {
			b.Run(fmt.Sprintf("MiB=%d/%s", mib, c.name), func(b *testing.B) {
				b.SetBytes(int64(n))
				for range b.N {
					if err := c.copy(); err != nil {
						b.Fatal(err)
					}
				}
				require.NoError(b, queue.Synchronize(ctx))
			})
		}
		require.NoError(b, errors.Join(pinned.Close(), onDevice.Close()))
	}
}

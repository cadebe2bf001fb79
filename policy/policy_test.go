package policy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
)

func g1(t testing.TB, path string) *loader.Store {
	t.Helper()
	path = filepath.Join("..", path)
	if _, err := os.Stat(path); err != nil {
		t.Skip("needs", path)
	}
	d, err := dataset.Open(context.Background(), path, dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	store, err := loader.Build(context.Background(), d, loader.BuildOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestTry(t *testing.T) {
	ctx := context.Background()
	store := g1(t, "../shared/data/lerobot_v21_g1")
	device, err := ops.Open("cpu")
	require.NoError(t, err)
	begin := time.Now()
	tr, err := policy.NewTrainer(ctx, device, store, policy.Options{HoldOut: []int{3}})
	require.NoError(t, err)
	fmt.Println("prepared", time.Since(begin), tr.Parameters(), tr.Config().Recipe.FLOP(78, 26)/1e6)
	begin = time.Now()
	r, err := policy.Ridge(ctx, tr.Config(), store)
	require.NoError(t, err)
	fmt.Println("ridge", time.Since(begin), r)
	begin = time.Now()
	for !tr.Done() {
		losses, err := tr.Run(ctx, 250)
		require.NoError(t, err)
		e, err := tr.Evaluate(ctx, nil)
		require.NoError(t, err)
		fmt.Println(tr.Steps(), losses[0], losses[len(losses)-1], time.Since(begin), e)
	}
	require.NoError(t, tr.Save(ctx, t.TempDir()))
	require.NoError(t, tr.Close())
}

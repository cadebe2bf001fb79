package inorder_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/inorder"
)

func TestResultsComeInOrderAndNoMoreThanAllowedAreBegun(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 5} {
		for _, room := range []int{0, 1, 7, 1000} {
			var begun, now, most atomic.Int64
			want := 0
			do := func(_ context.Context, i int) int {
				begun.Add(1)
				defer now.Add(-1)
				for is, was := now.Add(1), most.Load(); is > was && !most.CompareAndSwap(was, is); was = most.Load() {
				}
				time.Sleep(time.Duration(i%3) * 50 * time.Microsecond)
				return i * i
			}
			for i, v := range inorder.Each(context.Background(), 300, workers, room, func(int) int { return room }, do) {
				require.Equal(t, want, i)
				require.Equal(t, i*i, v)
				want++
				assert.LessOrEqual(t, int(begun.Load()), want+room)
			}
			assert.Equal(t, 300, want)
			assert.LessOrEqual(t, int(most.Load()), max(workers, 1), "at a time")
		}
	}
}

func TestNobodyWorksWhenItIsOver(t *testing.T) {
	var now, begun atomic.Int64
	do := func(ctx context.Context, i int) int {
		begun.Add(1)
		now.Add(1)
		defer now.Add(-1)
		time.Sleep(time.Millisecond)
		return i
	}
	all := func(int) int { return 100 }
	for range inorder.Each(context.Background(), 100, 3, 100, all, do) {
		break
	}
	assert.Zero(t, now.Load())
	assert.Less(t, begun.Load(), int64(20), "what nobody wants is not begun")

	for range inorder.Each(context.Background(), 0, 3, 100, all, do) {
		t.Fatal("there are none")
	}
}

// An end of the context is no end of the list: who takes the list for whole sees the error first.
func TestAnEndedContextDoesNotShortenAList(t *testing.T) {
	for _, workers := range []int{1, 3} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		seen := 0
		for i, err := range inorder.Each(ctx, 10, workers, 3, func(error) int { return 3 }, func(ctx context.Context, _ int) error { return ctx.Err() }) {
			seen++
			if i == 4 {
				assert.NoError(t, err)
				cancel()
			}
			if i > 8 { // those that had begun may have been done
				assert.ErrorIs(t, err, context.Canceled)
			}
		}
		assert.Equal(t, 10, seen)
	}
}

// A panic is that of who takes the results, after those before it: of itself it would end the program. Nothing goes on behind it.
func TestAPanicIsTakenToWhoTakesTheResults(t *testing.T) {
	for _, workers := range []int{1, 3} {
		var now atomic.Int64
		seen := 0
		err := caught.Do(func() error {
			for i := range inorder.Each(context.Background(), 100, workers, 5, func(int) int { return 5 }, func(_ context.Context, i int) int {
				now.Add(1)
				defer now.Add(-1)
				if i == 7 {
					panic(io.ErrNoProgress)
				}
				return i
			}) {
				require.Equal(t, seen, i)
				seen++
			}
			return nil
		})
		assert.ErrorIs(t, err, io.ErrNoProgress)
		assert.ErrorAs(t, err, new(*caught.Panic))
		assert.Equal(t, 7, seen)
		assert.Zero(t, now.Load())
	}
}

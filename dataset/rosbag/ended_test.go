package rosbag

import (
	"context"
	"testing"

	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/logtest"
	"github.com/robocache/robocache/storage"
)

func TestAReadThatIsNotAnsweredEndsWithItsContext(t *testing.T) {
	logtest.ReadsEnd(t, []string{"testdata/small-lz4.bag", "testdata/small-none.bag"}, func(ctx context.Context, file storage.File, path string) (topics.Log, error) {
		return open(ctx, &source{file: file}, path)
	})
}

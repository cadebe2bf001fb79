package mcap

import (
	"context"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/logtest"
	"github.com/robocache/robocache/storage"
)

func TestAReadThatIsNotAnsweredEndsWithItsContext(t *testing.T) {
	logtest.ReadsEnd(t, []string{"testdata/zstd.mcap", "testdata/bare.mcap"}, func(ctx context.Context, file storage.File, path string) (topics.Log, error) {
		return newLog(ctx, file, path, new(dataset.Notes))
	})
}

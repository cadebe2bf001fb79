package all

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/aloha"
	"github.com/robocache/robocache/dataset/calvin"
	"github.com/robocache/robocache/dataset/csv"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/dataset/isaaclab"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/rlds"
	"github.com/robocache/robocache/dataset/robomimic"
	"github.com/robocache/robocache/dataset/rosbag"
	"github.com/robocache/robocache/dataset/rosbag2"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/dataset/tum"
	"github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/internal/fault"
)

// The formats' Open functions return a system error at each call, without the watch that dataset.Open has, or the same as without the error.
func TestAnOpenFunctionHidesNoErrorOfTheSystem(t *testing.T) {
	ctx := context.Background()
	described := func(d dataset.Dataset, err error) (string, error) {
		if err != nil {
			return "", err
		}
		defer d.Close()
		return fmt.Sprintf("%s %d %+v", d.Name(), d.Len(), d.Info()), nil
	}
	opt := dataset.Options{}
	turtles := filepath.Join(t.TempDir(), "poses.txt")
	require.NoError(t, os.WriteFile(turtles, []byte("# time tx ty tz qx qy qz qw\n0 0 0 0 0 0 0 1\n1 1 0 0 0 0 0 1\n2 2 0 0 0 0 0 1\n"), 0o600))
	table := filepath.Join(t.TempDir(), "joints.csv")
	require.NoError(t, os.WriteFile(table, []byte("time,a,b\n0,1,2\n0.1,2,3\n0.2,3,4\n"), 0o600))
	for path, open := range map[string]func(path string) (string, error){
		"aloha/testdata/jpeg.hdf5":      func(path string) (string, error) { return described(aloha.Open(path, opt)) },
		"calvin/testdata/small":         func(path string) (string, error) { return described(calvin.Open(ctx, path, opt)) },
		table:                           func(path string) (string, error) { return described(csv.Open(path, opt)) },
		"isaaclab/testdata/demos.hdf5":  func(path string) (string, error) { return described(isaaclab.Open(path, opt)) },
		"../examples/data/g1":           func(path string) (string, error) { return described(lerobot.Open(ctx, path, lerobot.Options{})) },
		"mcap/testdata/zstd.mcap":       func(path string) (string, error) { return described(mcap.Open(ctx, path, opt)) },
		"rlds/testdata/kinds":           func(path string) (string, error) { return described(rlds.Open(ctx, path, rlds.Options{})) },
		"robomimic/testdata/demo.hdf5":  func(path string) (string, error) { return described(robomimic.Open(path, opt)) },
		"rosbag/testdata/small-lz4.bag": func(path string) (string, error) { return described(rosbag.Open(ctx, path, opt)) },
		"rosbag2/testdata/log.db3":      func(path string) (string, error) { return described(rosbag2.Open(ctx, path, opt)) },
		"../examples/data/turtles2":     func(path string) (string, error) { return described(rosbag2.Open(ctx, path, opt)) },
		turtles:                         func(path string) (string, error) { return described(tum.Open(path, opt)) },
		"hdf5/testdata/kinds_latest.hdf5": func(path string) (string, error) {
			f, err := hdf5.Open(path)
			if err != nil {
				return "", err
			}
			return "", f.Close()
		},
		"mp4/testdata/late.mp4": func(path string) (string, error) {
			f, err := mp4.Open(path)
			if err != nil {
				return "", err
			}
			return "", f.Close()
		},
		"npz/testdata/streams.npz": func(path string) (string, error) {
			f, err := npz.Open(path)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(f.Names()), f.Close()
		},
		"safetensors/testdata/streams.safetensors": func(path string) (string, error) {
			e, err := safetensors.ReadFile(path, opt)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(e.Notes), nil
		},
		"ulog/testdata/sample_log_small.ulg": func(path string) (string, error) {
			log, err := ulog.ReadFile(path, ulog.Options{})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%+v %d", log.Notes, len(log.Streams)), nil
		},
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if !filepath.IsAbs(path) {
				path = filepath.Join("..", filepath.FromSlash(path))
			}
			calls, at := 0, -1
			defer fault.Inject(func(string, string) error {
				if calls++; calls-1 == at {
					return syscall.EIO
				}
				return nil
			})()
			whole, err := open(path)
			require.NoError(t, err)
			for n := calls; at < n; at++ {
				calls = 0
				got, err := open(path)
				if err == nil {
					assert.Equal(t, whole, got, "call %d/%d", at, n)
					continue
				}
				assert.True(t, dataset.IsSystem(err), "call %d/%d: %v", at, n, err)
			}
		})
	}
}

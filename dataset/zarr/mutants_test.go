package zarr

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
)

// The mutants are files of both versions, and archives.
func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	var seeds []mutate.Seed
	roots := map[string]string{}
	for _, name := range []string{"kinds2.zarr.zip", "kinds3.zarr.zip"} {
		dir := unzipped(t, name)
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		seeds = append(seeds, mutate.Seed{Name: name, Data: data})
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".zgroup") {
				data, err = os.ReadFile(path)
				seeds, roots[path] = append(seeds, mutate.Seed{Name: path, Data: data}), dir
			}
			return err
		}))
	}
	archives := t.TempDir()
	mutate.Run(t, mutate.Plan{Seeds: seeds, Few: 2000, Most: 2 << 30, Try: func(m mutate.Mutant) {
		read := func(path string) {
			_, wrong := mutate.Read(func(opt dataset.Options) (dataset.Dataset, error) {
				return Open(context.Background(), path, opt)
			}, dataset.Options{Strict: m.N%2 == 0})
			require.NoError(t, wrong)
		}
		root := roots[m.Seed.Name]
		if root == "" {
			path := filepath.Join(archives, "a.zip")
			require.NoError(t, os.WriteFile(path, m.Data, 0o600))
			read(path)
			return
		}
		require.NoError(t, os.WriteFile(m.Seed.Name, m.Data, 0o600))
		read(root)
		require.NoError(t, os.WriteFile(m.Seed.Name, m.Seed.Data, 0o600))
	}})
}

package batching

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// A request's lists select episodes of each dataset, of recordings and of a store, streamed or not.
func TestListsOfARequestSelectEpisodes(t *testing.T) {
	ctx, g1 := t.Context(), "../../examples/data/g1"
	d, err := dataset.Open(ctx, g1, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	packed := filepath.Join(t.TempDir(), "g1.safetensors")
	require.NoError(t, store.Pack(ctx, d, packed, store.BuildOptions{}))
	device, err := ops.Open("cpu")
	require.NoError(t, err)
	defer device.Close()
	drawn := func(text string) (list [][2]int, err error) {
		r := &Request{}
		require.NoError(t, json.Unmarshal([]byte(text), r), text)
		r.Hz, r.Options.Batch = 30, 1
		if err := r.Check(); err != nil {
			return nil, err
		}
		s, err := Open(ctx, r, Watch{})
		if err != nil {
			return nil, err
		}
		defer s.Close()
		p, err := s.Plan(ctx)
		require.NoError(t, err)
		l, err := s.MakeOn(ctx, device, p)
		if err != nil {
			return nil, err
		}
		defer l.Close()
		for e := range l.Report().Episodes {
			of, _ := l.StoreOf(int64(e))
			_, number := l.Known(int64(e))
			list = append(list, [2]int{max(of, 0), number})
		}
		return list, nil
	}
	for _, path := range []string{g1, packed} {
		for _, streaming := range []bool{false, true} {
			one := func(lists string) string {
				return fmt.Sprintf(`{"paths": [%q], "streaming": %t, %s}`, path, streaming, lists)
			}
			for lists, want := range map[string][][2]int{
				`"episodes": [[0, 2]]`: {{0, 0}, {0, 2}}, `"leave_out": [[1]]`: {{0, 0}, {0, 2}}, `"episodes": [[0, 1]], "leave_out": [[0]]`: {{0, 1}},
				`"episodes": [null], "leave_out": [[]]`: {{0, 0}, {0, 1}, {0, 2}},
			} {
				got, err := drawn(one(lists))
				require.NoError(t, err, lists)
				assert.Equal(t, want, got, one(lists))
			}
			for lists, want := range map[string]OptionError{
				`"episodes": [[0, 3]]`:     {Arg: "episodes", Got: "3", Want: "numbers for the dataset's 3 episodes, 0 to 2"},
				`"leave_out": [[3]]`:       {Arg: "leave_out", Got: "3", Want: "numbers for the dataset's 3 episodes, 0 to 2"},
				`"leave_out": [[0, 1, 2]]`: {Arg: "leave_out", Got: "all 3 episodes", Want: "at least one that stays"},
				`"episodes": [[0], [1]]`:   {Arg: "episodes", Got: "those of 2 datasets", Want: "of 1"},
				`"leave_out": [[0], [1]]`:  {Arg: "leave_out", Got: "lists for 2", Want: "for 1 datasets"},
			} {
				_, err := drawn(one(lists))
				var option *OptionError
				require.ErrorAs(t, err, &option, lists)
				assert.Equal(t, want, *option)
			}
		}
		got, err := drawn(fmt.Sprintf(`{"paths": [%q, %q], "episodes": [[1, 2]], "leave_out": [[2], [0]]}`, path, packed))
		require.NoError(t, err)
		assert.Equal(t, [][2]int{{0, 1}, {1, 1}, {1, 2}}, got)
	}
}

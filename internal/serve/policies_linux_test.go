package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// trained writes a policy that has seen two steps of the recordings in g1, and returns its folder and the dataset in memory.
func trained(t *testing.T) (string, *store.Store) {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, g1, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	s, err := store.Build(ctx, d, store.BuildOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	devices, err := ops.OpenAll("cpu")
	require.NoError(t, err)
	tr, err := policy.NewTrainer(ctx, devices, s, policy.Options{HoldOut: []int{2}, Steps: 2, Batch: 4, Rate: 1e-2})
	require.NoError(t, err)
	_, err = tr.Run(ctx, 2)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	require.NoError(t, tr.Close())
	require.NoError(t, devices[0].Close())
	return dir, s
}

// A policy acts on windows as package policy has it, and errors leave it open.
func TestAPolicyActs(t *testing.T) {
	ctx := context.Background()
	dir, s := trained(t)
	device, err := ops.Open("cpu")
	require.NoError(t, err)
	defer device.Close()
	p, err := policy.Open(ctx, device, dir)
	require.NoError(t, err)
	defer p.Close()
	r, err := p.NewPredictor(ctx)
	require.NoError(t, err)
	defer r.Close()
	e, err := s.Episode(ctx, 2)
	require.NoError(t, err)
	c := connect(t)
	opened := c.good("policy", object{"path": dir}).object
	require.Equal(t, []any{json.Number("5"), json.Number("30"), json.Number("30")}, []any{opened["history"], opened["chunk"], opened["execute"]})
	require.Equal(t, "observation.state", opened["states"].([]any)[0].(object)["name"])
	assert.Len(t, opened["action"].(object)["columns"], e.Stream("action").Values.Dim(1))
	var last []float64
	ask := func(rows int) answer {
		streams, list, blob := map[string]*tensor.Tensor{}, []object{}, []byte{}
		for i, name := range []string{"observation.state", "action"} {
			v := tensor.Must(e.Stream(name).Values.Slice(0, rows-5-i, rows-i))
			streams[name] = v
			list = append(list, object{"name": name, "shape": v.Shape()})
			numbers, err := tensor.Floats(v)
			require.NoError(t, err)
			blob, err = binary.Append(blob, binary.LittleEndian, numbers)
			require.NoError(t, err)
		}
		want, err := r.Predict(ctx, streams)
		require.NoError(t, err)
		require.NotEqual(t, last, want)
		last = slices.Clone(want)
		a, err := c.try("act", object{"handle": opened["handle"], "streams": list}, blob)
		require.NoError(t, err)
		return a
	}
	for _, rows := range []int{10, 50} {
		a := ask(rows)
		sent := decoded[struct{ Actions array }](t, a).Actions
		assertSent(t, memoryOf(t, a), sent, tensor.Must(tensor.Of(last, 30, len(last)/30)), "actions")
	}
	failed := func(list []object, blob []byte) Failure {
		a, err := c.try("act", object{"handle": opened["handle"], "streams": list}, blob)
		require.NoError(t, err)
		return a.error()
	}
	got := failed([]object{{"name": "observation.state", "shape": []int{1, 2}}}, make([]byte, 16))
	assert.Equal(t, []string{"PolicyError", dir, "observation.state", "shape [1,2]"}, []string{got.Class, got.Path, got.Stream, got.Got})
	assert.Equal(t, "PolicyError", failed(nil, nil).Class, "no action before the anchor")
	for _, shape := range [][]int{{1, 3}, {-1, 2}, {1 << 40, 1 << 40}} {
		assert.Equal(t, "RequestError", failed([]object{{"name": "action", "shape": shape}}, make([]byte, 16)).Class)
	}
	assert.Equal(t, "PolicyError", c.bad("policy", object{"path": t.TempDir()}).Class)
	opening := c.open(g1)
	assert.NotEqual(t, opened["handle"], json.Number(strconv.Itoa(opening)), "recordings have other handles")
	c.good("close", object{"handles": []any{opened["handle"]}})
	assert.Equal(t, "RequestError", failed(nil, nil).Class)
	c.good("policy", object{"path": dir}) // closed with the connection
}

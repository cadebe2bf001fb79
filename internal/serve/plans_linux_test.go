package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// described returns a device in the Python package's form.
func described() record.Target {
	return record.Target{Name: "NVIDIA H100 80GB HBM3", Driver: 13000, Attributes: map[int]int{1: 1024, 8: 48 << 10, 10: 32, 16: 132, 39: 2048, 75: 9, 76: 0, 81: 228 << 10, 97: 227 << 10, 115: 1}}
}

// withTarget returns a connection with a device, as number 0.
func withTarget(t *testing.T) *client {
	t.Setenv("ROBOCACHE_TUNED", "off")
	c := connect(t)
	a := c.good("target", object{"target": described()})
	assert.Equal(t, json.Number("0"), a.object["target"])
	assert.NotEmpty(t, a.object["reason"])
	return c
}

// describe returns a job's OP for a plan, and its tensors for a recorder.
func (j *job) describe() (request object, tensors []record.Tensor) {
	all := maps.Clone(j.inputs)
	maps.Copy(all, j.outputs)
	described := object{}
	for name, t := range all {
		described[name] = object{"dtype": t.DType().String(), "shape": t.Shape(), "align": 8}
	}
	request = maps.Clone(j.request)
	request["tensors"] = described
	text, _ := json.Marshal(request)
	o, err := ReadOperation(text)
	if err != nil {
		panic(err)
	}
	for _, t := range o.Tensors {
		tensors = append(tensors, record.Tensor{Name: t.Name, DType: t.DType, Shape: t.Shape, Strides: all[t.Name].Strides(), Align: 8})
	}
	return request, tensors
}

// plan returns the job's plan on a device, without a request.
func (j *job) plan(names []record.Tensor) record.PlanFunc {
	return func(dev *ops.Device, list []*tensor.Tensor) (p *ops.Plan, err error) {
		in, out := map[string]*tensor.Tensor{}, map[string]*tensor.Tensor{}
		for i, n := range names {
			in[n.Name], out[n.Name] = list[i], list[i]
		}
		return j.planned(dev, in, out)
	}
}

func TestAPlanIsWhatTheRecorderMakesOfTheOperation(t *testing.T) {
	c := withTarget(t)
	r, err := record.New(described())
	require.NoError(t, err)
	defer r.Close()
	first := map[string]answer{}
	for _, j := range append(jobs(), jobs()...) {
		request, tensors := j.describe()
		a := c.good("plan", object{"target": 0, "request": request})
		if before, again := first[j.name]; again {
			assert.Equal(t, before, a, "%s: after others", j.name)
			continue
		}
		first[j.name] = a
		want, err := r.Plan(request["op"].(string), tensors, j.plan(tensors))
		require.NoError(t, err, j.name)
		header, err := json.Marshal(a.object["plan"])
		require.NoError(t, err)
		assert.JSONEq(t, string(want.Header()), string(header), j.name)
		assert.Equal(t, want.Payload, a.blob, j.name)
		assert.NotEmpty(t, want.Launches, j.name)
		for _, im := range want.Images {
			data := c.good("image", object{"hash": im.Hash}).blob
			sum := sha256.Sum256(data)
			assert.Equal(t, im.Hash, hex.EncodeToString(sum[:]), "%s: %s", j.name, im.File)
			assert.EqualValues(t, im.Bytes, len(data))
		}
	}
}

// A fault has the same error as the operation on the device, with the row if there are offsets.
func TestAFaultIsExplained(t *testing.T) {
	c := withTarget(t)
	all := jobs()
	request, _ := all[0].describe()
	row, index := 0, 7
	ask := func(f backend.Fault, contents object) Failure {
		f0 := c.bad("explain", object{"target": 0, "request": request, "fault": uint64(f), "contents": contents})
		f0.Message = ""
		return f0
	}
	assert.Equal(t, Failure{Class: "ValueError", Op: "Resample", Arg: "SrcTimes", Kind: "time goes backwards", Row: &row, Index: &index}, ask(backend.MakeFault(backend.FaultTimes, 7, backend.FaultUnsorted), nil))

	request, _ = all[1].describe()
	row, index = 1, 5
	packed := backend.MakeFault(backend.FaultTimes, 30, backend.FaultUnsorted).InStream(0)
	assert.Equal(t, Failure{Class: "ValueError", Op: "Fuse", Arg: "Streams[0].SrcTimes", Kind: "time goes backwards", Row: &row, Index: &index}, ask(packed, object{"Streams[0].SrcOffsets": []int{0, 25, 40}}))
	assert.Equal(t, "contents.Streams[0].SrcOffsets", ask(packed, nil).Arg)
	assert.Equal(t, "contents.Streams[0].SrcOffsets", ask(packed, object{"Streams[0].SrcOffsets": []int{0}}).Arg)
	assert.NotEmpty(t, ask(backend.NoFault, nil).Class)
}

// A word that no kernel writes, from corrupted memory, is an ordinary error for each operation.
func TestAWordThatIsNoFaultIsSaidToBeNone(t *testing.T) {
	c := withTarget(t)
	for _, j := range jobs() {
		request, tensors := j.describe()
		contents := object{}
		for _, x := range tensors {
			if in := j.inputs[x.Name]; in != nil && in.DType() == tensor.I64 {
				list, err := tensor.Data[int64](in)
				require.NoError(t, err)
				contents[x.Name] = list
			}
		}
		for i := range 400 {
			word := rand.Uint64()
			if i < 64 {
				word = uint64(i&15) | uint64(i>>4)<<62
			}
			f := c.bad("explain", object{"target": 0, "request": request, "fault": word, "contents": contents})
			assert.NotEqual(t, "PanicError", f.Class, "%s: %#x: %s", j.name, word, f.Message)
		}
	}
}

func TestCountsAreReadFromWhatARunLeft(t *testing.T) {
	c := withTarget(t)
	r, err := record.New(described())
	require.NoError(t, err)
	defer r.Close()
	for _, j := range jobs() {
		request, tensors := j.describe()
		fields := object{"target": 0, "request": request}
		if request["op"] != "voxelize" {
			a, err := c.try("counts", fields, nil)
			require.NoError(t, err)
			assert.NotEmpty(t, a.error().Message, j.name)
			continue
		}
		plan, err := r.Plan("voxelize", tensors, j.plan(tensors))
		require.NoError(t, err)
		state := make([]byte, plan.Counts.Bytes)
		for i := range state {
			state[i] = byte(i%8/7^1) * byte(i) & 63
		}
		want, err := r.Counts(tensors, j.plan(tensors), state)
		require.NoError(t, err)
		a, err := c.try("counts", fields, state)
		require.NoError(t, err)
		require.Equal(t, true, a.object["ok"], a.object)
		assert.Equal(t, fmt.Sprint(want.Points), fmt.Sprint(a.object["counts"].(object)["points"]))
		assert.Equal(t, fmt.Sprint(want.DroppedPoints), fmt.Sprint(a.object["counts"].(object)["dropped_points"]))
		a, err = c.try("counts", fields, state[1:])
		require.NoError(t, err)
		assert.NotEmpty(t, a.error().Message)
	}
}

func TestAPlanThatCannotBeIsRefused(t *testing.T) {
	c := withTarget(t)
	assert.Equal(t, json.Number("0"), c.good("target", object{"target": described()}).object["target"], "described again")
	forced := described()
	forced.Kernels = "sm_90.ptx"
	assert.Equal(t, json.Number("1"), c.good("target", object{"target": forced}).object["target"])
	forced.Kernels = "none such"
	f := c.bad("target", object{"target": forced})
	assert.Equal(t, [3]string{"TargetError", "kernels", `"none such"`}, [3]string{f.Class, f.Arg, f.Got})
	assert.NotEmpty(t, c.bad("target", object{"target": record.Target{}}).Message)
	assert.Equal(t, "hash", c.bad("image", object{"hash": "00"}).Arg)
	j := jobs()[0]
	for _, target := range []int{-1, 2} {
		request, _ := j.describe()
		assert.Equal(t, "target", c.bad("plan", object{"target": target, "request": request}).Arg)
	}
	request, _ := j.describe()
	request["tensors"].(object)["Src"].(object)["at"] = 0
	assert.Equal(t, "tensors.Src.at", c.bad("plan", object{"target": 0, "request": request}).Arg)
	request, _ = j.describe()
	delete(request["tensors"].(object), "Dst")
	f = c.bad("plan", object{"target": 0, "request": request})
	assert.Equal(t, [3]string{"ArgError", "Dst", "missing argument"}, [3]string{f.Class, f.Arg, f.Kind})
	request, _ = j.describe()
	request["tensors"].(object)["SrcTimes"].(object)["align"] = 4
	f = c.bad("plan", object{"target": 0, "request": request})
	assert.Equal(t, [2]string{"ArgError", "SrcTimes"}, [2]string{f.Class, f.Arg})
}

// A connection has a limited number of devices.
func TestTargetsAreBounded(t *testing.T) {
	c := &Conn{targets: slices.Repeat([]target{{text: "another"}}, mostTargets)}
	text, err := json.Marshal(object{"do": "target", "target": described()})
	require.NoError(t, err)
	_, err = typed(addTarget)(t.Context(), c, &Request{JSON: text})
	var refused *RequestError
	require.True(t, errors.As(err, &refused))
	assert.Equal(t, "target", refused.Arg)
}

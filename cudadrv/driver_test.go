package cudadrv

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSymbolListIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for i, s := range symbols {
		require.NotEmpty(t, s.name, "slot %d", i)
		assert.False(t, seen[s.name], s.name)
		assert.GreaterOrEqual(t, s.since, 2000, s.name)
		seen[s.name] = true
		if s.required {
			assert.LessOrEqual(t, s.since, MinVersion, "%s is required of every driver taken", s.name)
		}
	}
}

// The layouts are those of cuda.h on 64-bit Linux: sizes and offsets as a C compiler gives them.
func TestStructLayouts(t *testing.T) {
	offsets := func(v any) (size uintptr, at map[string]uintptr) {
		at = map[string]uintptr{}
		r := reflect.TypeOf(v)
		for i := range r.NumField() {
			at[r.Field(i).Name] = r.Field(i).Offset
		}
		return r.Size(), at
	}
	size, at := offsets(memcpy2D{})
	assert.EqualValues(t, 128, size)
	for name, want := range map[string]uintptr{"srcX": 0, "srcY": 8, "srcType": 16, "srcHost": 24, "srcDevice": 32, "srcArray": 40, "srcPitch": 48,
		"dstX": 56, "dstY": 64, "dstType": 72, "dstHost": 80, "dstDevice": 88, "dstArray": 96, "dstPitch": 104, "width": 112, "height": 120} {
		assert.Equal(t, want, at[name], name)
	}
	size, at = offsets(launchParams{})
	assert.EqualValues(t, 56, size)
	for name, want := range map[string]uintptr{"grid": 0, "block": 12, "shared": 24, "stream": 32, "attrs": 40, "count": 48} {
		assert.Equal(t, want, at[name], name)
	}
	size, at = offsets(launchAttr{})
	assert.EqualValues(t, 72, size)
	assert.EqualValues(t, 8, at["value"])
	_, at = offsets(extended{})
	assert.EqualValues(t, 56, at["attrs"])
	assert.EqualValues(t, 8, reflect.TypeFor[uintptr]().Size())
}

func TestDriverTellsWhyItDoesNotStart(t *testing.T) {
	cases := []struct {
		name   string
		change func(*fake)
		want   error
		text   string
	}{
		{"too old", func(k *fake) { k.version = 11070 }, ErrDriverTooOld, "supports CUDA 11.7, wanted 11.8 (driver 520)"},
		{"stub", func(k *fake) { k.fault = func(string, int) Code { return codeStubLibrary } }, ErrDriverStub, "stub"},
		{"stub that tells a version", func(k *fake) {
			k.fault = func(name string, _ int) Code {
				if name == "cuInit" {
					return codeStubLibrary
				}
				return Success
			}
		}, ErrDriverStub, "stub"},
		{"no device", func(k *fake) { k.fault = only("cuInit", codeNoDevice) }, ErrNoGPU, "no CUDA device"},
		{"no device counted", func(k *fake) { k.devices = 0 }, ErrNoGPU, "no CUDA device"},
		{"mismatch", func(k *fake) { k.fault = only("cuInit", ErrSystemDriverMismatch) }, ErrInitFailed, "803"},
		{"required function", func(k *fake) { k.missing["cuMemcpyHtoDAsync_v2"] = true }, ErrSymbolMissing, "cuMemcpyHtoDAsync_v2 (CUDA 3.2; this driver supports 12.8)"},
		{"cuInit missing", func(k *fake) { k.missing["cuInit"] = true }, ErrSymbolMissing, "cuInit"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newFake()
			c.change(k)
			d, err := NewDriver(k.table())
			require.Error(t, err)
			assert.Nil(t, d)
			assert.ErrorIs(t, err, c.want)
			assert.ErrorContains(t, err, c.text)
			var load *LoadError
			require.ErrorAs(t, err, &load)
			assert.Equal(t, "fake", load.Path)
			for _, other := range []LoadKind{ErrDriverMissing, ErrDriverStub, ErrDriverTooOld, ErrSymbolMissing, ErrNoGPU, ErrInitFailed, ErrPlatform} {
				assert.Equal(t, error(other) == c.want, errors.Is(err, other), "%v", other)
			}
		})
	}
	_, err := NewDriver(nil)
	assert.ErrorIs(t, err, ErrDriverMissing)
}

// only fails every call of one function.
func only(name string, code Code) func(string, int) Code {
	return func(n string, _ int) Code {
		if n == name {
			return code
		}
		return Success
	}
}

func TestDeviceTellsAboutItself(t *testing.T) {
	c := newFake().open(t)
	defer func() { require.NoError(t, c.Close()) }()
	dev := c.Device()
	assert.Equal(t, 12080, dev.Driver().Version())
	assert.Equal(t, "fake", dev.Driver().Path())
	name, err := dev.Name()
	require.NoError(t, err)
	assert.Equal(t, "Fake GPU", name)
	uuid, err := dev.UUID()
	require.NoError(t, err)
	assert.Equal(t, "GPU-00112233-4455-6677-8899-aabbccddeeff", uuid)
	bus, err := dev.PCIBusID()
	require.NoError(t, err)
	assert.Equal(t, "0000:1b:00.0", bus)
	total, err := dev.TotalMem()
	require.NoError(t, err)
	assert.EqualValues(t, 1<<30, total)
	major, minor := dev.ComputeCapability()
	assert.Equal(t, []int{9, 0}, []int{major, minor})
	free, total, err := c.MemInfo()
	require.NoError(t, err)
	assert.EqualValues(t, []uint64{1 << 29, 1 << 30}, []uint64{free, total})
	_, err = dev.Driver().Device(1)
	assert.ErrorContains(t, err, "is 1, want 0 to 0")
}

func TestErrorsCarryTheDriversWords(t *testing.T) {
	k := newFake()
	c := k.open(t)
	_, err := c.Malloc(context.Background(), 1<<40)
	require.Error(t, err)
	assert.ErrorIs(t, err, ErrOutOfMemory)
	assert.NotErrorIs(t, err, ErrInvalidValue)
	assert.EqualError(t, err, "cudadrv: cuMemAllocAsync: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory")
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, ErrOutOfMemory, e.Code)
	require.NoError(t, c.Close())
}

func TestMissingOptionalFunctionNamesBothVersions(t *testing.T) {
	k := newFake()
	k.version = 11080
	k.missing["cuEventElapsedTime"] = true
	c := k.open(t)
	e, err := c.NewEvent(EventOptions{})
	require.NoError(t, err)
	_, err = e.Elapsed(e)
	assert.ErrorIs(t, err, ErrUnsupported)
	assert.EqualError(t, err, "cudadrv: cuEventElapsedTime needs a driver for CUDA 2.0, this one supports 11.8")
	require.NoError(t, e.Close())
	require.NoError(t, c.Close())
}

func TestWrapSeesEveryCall(t *testing.T) {
	k := newFake()
	calls := map[string]int{}
	d, err := NewDriver(k.table().Wrap(func(name string, next Proc) Proc {
		return func(args []uintptr) uintptr {
			calls[name]++
			if name == "cuMemAllocAsync" && calls[name] == 2 {
				return uintptr(ErrOutOfMemory)
			}
			return next(args)
		}
	}))
	require.NoError(t, err)
	dev, err := d.Device(0)
	require.NoError(t, err)
	c, err := dev.Primary()
	require.NoError(t, err)
	for i := 1; i <= 3; i++ {
		m, err := c.Malloc(context.Background(), 8)
		if i == 2 {
			assert.ErrorIs(t, err, ErrOutOfMemory)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, m.Close())
	}
	require.NoError(t, c.Close())
}

func TestEveryPushIsPopped(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	_, _ = c.Malloc(context.Background(), 1<<40)
	_, _ = c.LoadModule([]byte("bad"))
	_, _ = s.Capture(func(*Stream) error { return errors.New("no") })
	assert.Panics(t, func() { _, _ = s.Capture(func(*Stream) error { panic("no") }) })
	assert.Zero(t, k.pushed)
}

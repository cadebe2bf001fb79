//go:build linux && (amd64 || arm64)

package cudadrv

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// library compiles a shared library from C and returns its path.
func library(t *testing.T, source string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc missing: the tool that compiles a small library for this test")
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "lib.c"), filepath.Join(dir, "libcuda.so.1")
	filetest.Write(t, in, source)
	msg, err := exec.Command(gcc, "-shared", "-fPIC", "-o", out, in).CombinedOutput()
	require.NoError(t, err, "%s", msg)
	return out
}

func TestOpenTellsAMissingDriver(t *testing.T) {
	t.Setenv(libraryEnv, "/nonexistent/libcuda.so.1")
	_, err := load()
	require.ErrorIs(t, err, ErrDriverMissing)
	assert.ErrorContains(t, err, "/nonexistent/libcuda.so.1")
	var e *LoadError
	require.ErrorAs(t, err, &e)
	assert.Len(t, e.Tried, 1, "the variable's library and no other")
}

func TestOpenRefusesARelativePath(t *testing.T) {
	t.Setenv(libraryEnv, "./libcuda.so.1")
	_, err := load()
	require.ErrorIs(t, err, ErrDriverMissing)
	assert.ErrorContains(t, err, "absolute path")
}

// NVDEC is optional: a driver opens without it, and the error of its library has the name.
func TestTheVideoLibraryIsNamed(t *testing.T) {
	for name, want := range map[string]string{"./libnvcuvid.so": "absolute path", "/nonexistent/libnvcuvid.so.1": "/nonexistent/libnvcuvid.so.1"} {
		t.Setenv("ROBOCACHE_LIBNVCUVID", name)
		_, err := openNVDEC()
		require.ErrorIs(t, err, ErrNVDECMissing)
		assert.ErrorContains(t, err, want)
	}
	t.Setenv("ROBOCACHE_LIBNVCUVID", library(t, "int cuvidDestroyDecoder(void) { return 7; }"))
	table, err := openNVDEC()
	require.NoError(t, err)
	p, ok := table.Lookup("cuvidDestroyDecoder", 0)
	require.True(t, ok)
	assert.EqualValues(t, 7, int32(p(nil)))
	_, ok = table.Lookup("cuvidCreateDecoder", 0)
	assert.False(t, ok)
}

func TestOpenTellsAStub(t *testing.T) {
	path := library(t, "int cuInit(unsigned f) { return 34; } int cuDriverGetVersion(int *v) { return 34; }")
	t.Setenv(libraryEnv, path)
	_, err := load()
	require.ErrorIs(t, err, ErrDriverStub)
	require.ErrorIs(t, err, codeStubLibrary)
	assert.NotErrorIs(t, err, ErrDriverMissing)
	assert.ErrorContains(t, err, path)
}

func TestOpenLooksPastAStub(t *testing.T) {
	stub := library(t, "int cuInit(unsigned f) { return 34; } int cuDriverGetVersion(int *v) { *v = 13000; return 0; }")
	old := library(t, "int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int *v) { *v = 11040; return 0; }")
	_, err := loadFrom([]string{"/nonexistent/libcuda.so.1", stub, old})
	require.ErrorIs(t, err, ErrDriverTooOld)
	assert.ErrorContains(t, err, "supports CUDA 11.4, wanted 11.8")
	assert.ErrorContains(t, err, old)
	_, err = loadFrom([]string{stub, "/nonexistent/libcuda.so.1"})
	require.ErrorIs(t, err, ErrDriverStub, "a stub and nothing else")
}

func TestOpenTellsAMissingFunction(t *testing.T) {
	path := library(t, "int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int *v) { *v = 12040; return 0; }")
	_, err := loadFrom([]string{path})
	require.ErrorIs(t, err, ErrSymbolMissing)
	assert.ErrorContains(t, err, "cuDeviceGetCount")
}

// The library answers through cuGetProcAddress, by base name and version, and by exported name for the rest.
func TestFunctionsAreAskedOfTheDriverFirst(t *testing.T) {
	path := library(t, `
		#include <string.h>
		static int real_alloc(void) { return 41; }
		int cuMemAlloc_v2(void) { return 42; }
		int cuMemFree_v2(void) { return 43; }
		int cuGetProcAddress_v2(const char *name, void **fn, int version, unsigned long long flags, int *status) {
			*fn = 0;
			if (strcmp(name, "cuMemAlloc") == 0 && version == 3020 && flags == 0) { *fn = real_alloc; *status = 0; return 0; }
			*status = 1;
			return 0;
		}`)
	lib, err := purego.Dlopen(path, purego.RTLD_NOW)
	require.NoError(t, err)
	table := libraryFunctionTable(lib, path)
	for name, want := range map[string]uintptr{"cuMemAlloc_v2": 41, "cuMemFree_v2": 43} {
		p, ok := table.Lookup(name, 3020)
		require.True(t, ok, name)
		assert.Equal(t, want, p(nil)&0xffffffff, name)
	}
	_, ok := table.Lookup("cuNoSuch", 3020)
	assert.False(t, ok)
}

func TestProcPassesElevenArgumentsAndAllocatesNothing(t *testing.T) {
	path := library(t, `int cuLaunchKernel(long a, int b, int c, int d, int e, int f, int g, int h, long i, void **j, void *k) {
		return a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8 && i == 9 && **(int **)j == 10 && k == 0 ? 0 : 1; }`)
	lib, err := purego.Dlopen(path, purego.RTLD_NOW)
	require.NoError(t, err)
	p, ok := libraryFunctionTable(lib, path).Lookup("cuLaunchKernel", 4000)
	require.True(t, ok)
	value := []uint64{10}
	ptrs := []uintptr{Addr(wordBytes(value))}
	args := []uintptr{1, 2, 3, 4, 5, 6, 7, 8, 9, wordsAddr(ptrs), 0}
	assert.Zero(t, int32(p(args)))
	assertNoAllocs(t, func() { p(args) }, "a call")
	value[0] = 11
	assert.Equal(t, int32(1), int32(p(args)))
}

package release

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// compiled builds a small C program for this machine.
func compiled(t *testing.T, source string, args ...string) string {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	dir := t.TempDir()
	file, out := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	filetest.Write(t, file, source)
	text, err := exec.Command(gcc, append([]string{"-o", out, file}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return out
}

func TestABinaryThatNeedsANewerLibraryIsRefused(t *testing.T) {
	newer := compiled(t, `
#define _GNU_SOURCE
#include <sys/random.h>
int main(void) { char b; return getrandom(&b, 1, 0) != 1; }`) // of glibc 2.25
	assert.Regexp(t, `it needs \w+ of GLIBC_2\.\d+, which glibc 2\.17 does not have`, CheckELF(newer, runtime.GOARCH))
	other := compiled(t, "int main(void) { return 0; }", "-Wl,--no-as-needed", "-lgcc_s")
	assert.ErrorContains(t, CheckELF(other, runtime.GOARCH), "it needs libgcc_s.so.1, which manylinux_2_17 does not promise")
	assert.ErrorContains(t, CheckELF(newer, "riscv64"), "want riscv64")
	loader := compiled(t, "int main(void) { return 0; }", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
	assert.ErrorContains(t, CheckELF(loader, runtime.GOARCH), "it asks for the loader /lib/ld-musl-x86_64.so.1, want "+platforms[runtime.GOARCH].loader)
}

func TestSymbolsOfOldLibrariesAreAllowed(t *testing.T) {
	for version, want := range map[string]bool{"GLIBC_2.2.5": true, "GLIBC_2.17": true, "GLIBC_2.18": false, "GLIBC_2.34": false, "GLIBC_PRIVATE": false, "GCC_3.0": false} {
		assert.Equal(t, want, old(version), version)
	}
}

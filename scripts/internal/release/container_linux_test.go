package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// packed is the archive of this machine's binary, as a release has it.
func packed(t *testing.T) []byte {
	program := filetest.Read(t, binary(t))
	var b bytes.Buffer
	require.NoError(t, archive(&b, []entry{{"robocache", 0o755, program}, {"LICENSE", 0o644, []byte("licence")}}))
	return b.Bytes()
}

// unpack writes the files of an archive into a folder.
func unpack(t *testing.T, packed []byte, dir string) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, h.Name), data, h.FileInfo().Mode()))
	}
}

func TestAnArchiveIsTheSameBytesAndSafeToUnpack(t *testing.T) {
	list := []entry{{"robocache", 0o755, []byte("a binary")}, {"LICENSE", 0o644, nil}}
	var a, b bytes.Buffer
	require.NoError(t, archive(&a, list))
	require.NoError(t, archive(&b, list))
	assert.Equal(t, a.Bytes(), b.Bytes())
	z, err := gzip.NewReader(&a)
	require.NoError(t, err)
	h, err := tar.NewReader(z).Next()
	require.NoError(t, err)
	assert.Equal(t, []any{"robocache", int64(0o755), 0, 0, epoch}, []any{h.Name, h.Mode, h.Uid, h.Gid, h.ModTime.UTC()})
}

// The image is what the Containerfile adds to distroless/base, of which this takes the loader and the C library alone, run as its user.
func TestTheBinaryRunsInAnImageOfTheCLibraryAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to enter another root file system")
	}
	text := string(Containerfile)
	add := regexp.MustCompile(`(?m)^ADD (\S+) (\S+)$`).FindStringSubmatch(text)
	entrypoint := regexp.MustCompile(`(?m)^ENTRYPOINT \["(.*)"\]$`).FindStringSubmatch(text)
	require.NotNil(t, add)
	require.NotNil(t, entrypoint)
	require.Equal(t, ArchiveName(here), strings.ReplaceAll(add[1], "${TARGETARCH}", runtime.GOARCH))

	root := t.TempDir()
	require.NoError(t, os.Chmod(root, 0o755))
	unpack(t, packed(t), filepath.Join(root, add[2]))
	loader := platforms[runtime.GOARCH].loader
	list, err := exec.Command(loader, "--list", binary(t)).Output()
	require.NoError(t, err)
	paths := []string{loader}
	for _, m := range regexp.MustCompile(`=> (/\S+)`).FindAllSubmatch(list, -1) {
		paths = append(paths, string(m[1]))
	}
	require.Greater(t, len(paths), 2, "%s", list)
	for _, path := range paths {
		data := filetest.Read(t, path)
		to := filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, data, 0o755))
	}
	const nonroot = 65532
	data := filepath.Join(root, "data")
	require.NoError(t, os.Mkdir(data, 0o755))
	require.NoError(t, os.Chown(data, nonroot, nonroot))
	log := filetest.Read(t, filepath.Join(repository(t), "examples", "data", "flight.ulg"))
	filetest.Write(t, filepath.Join(data, "flight.ulg"), log)

	robocache := func(args ...string) string {
		cmd := exec.Command(entrypoint[1], args...)
		cmd.Dir, cmd.Env = "/data", []string{"PATH=/usr/bin:/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nonroot, Gid: nonroot}}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%q: %s", args, out)
		return string(out)
	}
	assert.Contains(t, robocache("info"), "robocache "+testVersion)
	robocache("resample", "flight.ulg", "-o", "out.npz", "--hz", "50", "--stream", "airspeed")
	st, err := os.Stat(filepath.Join(data, "out.npz"))
	require.NoError(t, err)
	assert.Positive(t, st.Size())
}

// The other processor's binary is emulated: it starts, and computes the same bits.
func TestTheBinaryForTheOtherProcessorRuns(t *testing.T) {
	emulator, err := exec.LookPath("qemu-aarch64-static")
	const libraries = "/usr/aarch64-linux-gnu"
	if _, none := os.Stat(libraries + "/lib"); err != nil || none != nil || runtime.GOARCH != "amd64" {
		t.Skip("no qemu-aarch64-static and C library for it on amd64 (Debian: qemu-user-static, libc6-arm64-cross)")
	}
	dir := t.TempDir()
	other := filepath.Join(dir, "robocache")
	require.NoError(t, Build(repository(t), "linux/arm64", testVersion, other))
	log := filepath.Join(repository(t), "examples", "data", "flight.ulg")
	resample := []string{"resample", log, "--hz", "50", "--stream", "airspeed", "-o"}
	output(t, nil, binary(t), append(resample, filepath.Join(dir, "here.npz"))...)
	output(t, []string{"QEMU_LD_PREFIX=" + libraries}, emulator, append(append([]string{other}, resample...), filepath.Join(dir, "there.npz"))...)
	want := filetest.Read(t, filepath.Join(dir, "here.npz"))
	got := filetest.Read(t, filepath.Join(dir, "there.npz"))
	assert.Equal(t, want, got)
}

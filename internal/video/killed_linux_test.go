package video

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/videotest"
)

func TestAProgramThatIsKilledIsNoFaultOfThePictures(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ffmpeg")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nkill -9 $$\n"), 0o700))
	t.Setenv("ROBOCACHE_FFMPEG", program)
	err := Encoding{"h264", 64, 64, 30}.Encode(context.Background(), "film.mp4", grey(300, 64, 64, nil))
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.Equal(t, "film.mp4", path.Path)
	assert.ErrorContains(t, err, "killed")
}

const blockedEnv = "ROBOCACHE_TEST_BLOCKED"

// stall decodes a stream until its packets do not come, or until nothing reads its frames. It prints a line then, and waits forever.
func stall(t *testing.T, where string) {
	s := videotest.Streams(t, "h264_size_1080")["h264_size_1080"]
	job := jobOf(s)
	wait := func() {
		fmt.Println("\n" + blockedEnv)
		select {}
	}
	if where == "packets" {
		job.Open = func(_ context.Context, packet int) (io.Reader, error) {
			if packet == 2 {
				wait()
			}
			return bytes.NewReader(s.Packets[packet]), nil
		}
	}
	for range Decode(t.Context(), []int{0, 1, 2, 3}, job.Planes) {
		wait()
	}
}

// When a program is killed while ffmpeg waits for it, ffmpeg ends.
func TestAKilledProgramLeavesNoFFmpeg(t *testing.T) {
	if where := os.Getenv(blockedEnv); where != "" {
		stall(t, where)
	}
	needs(t)
	for _, where := range []string{"packets", "frames"} {
		dir := t.TempDir()
		program, note := filepath.Join(dir, "ffmpeg"), filepath.Join(dir, "pid")
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho $$ > "+note+"\nexec ffmpeg \"$@\"\n"), 0o700))
		cmd := exec.Command(os.Args[0], "-test.run=^TestAKilledProgramLeavesNoFFmpeg$")
		cmd.Env = append(os.Environ(), blockedEnv+"="+where, "ROBOCACHE_FFMPEG="+program)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != blockedEnv {
		}
		assert.Equal(t, blockedEnv, lines.Text())
		var pid int
		for range 500 { // ffmpeg may start after the first packets are written
			b, _ := os.ReadFile(note)
			if pid, err = strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		require.NoError(t, err)
		ended := func() bool { // also if its new parent has not waited for it yet
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || bytes.Contains(b, []byte(") Z "))
		}
		assert.False(t, ended(), where)
		require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
		assert.Error(t, cmd.Wait())
		assert.Eventually(t, ended, 20*time.Second, 10*time.Millisecond, where)
	}
}

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The program serves the socket that it was started with, and ends with it.
func TestServeAnswersOnTheDescriptorThatItIsGiven(t *testing.T) {
	for _, args := range [][]string{{"serve"}, {"serve", "--fd", "4"}} {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
		cmd, temp := program(t, args...)
		cmd.ExtraFiles = []*os.File{theirs, theirs}
		require.NoError(t, cmd.Start())
		require.NoError(t, theirs.Close())
		text := `{"do":"hello","protocol":1,"version":"dev"}`
		frame := append([]byte("RCF1"), byte(len(text)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		_, err = ours.Write(append(frame, text...))
		require.NoError(t, err)
		_, err = io.ReadFull(ours, frame)
		require.NoError(t, err)
		reply := make([]byte, binary.LittleEndian.Uint32(frame[4:]))
		_, err = io.ReadFull(ours, reply)
		require.NoError(t, err)
		assert.Contains(t, string(reply), `"ok":true`)
		assert.Contains(t, string(reply), fmt.Sprintf("%q:%q", "version", versionOf().Version))
		require.NoError(t, ours.Close())
		assert.NoError(t, cmd.Wait())
		assert.Empty(t, listed(t, temp))
	}
}

func TestServeIsNotForPeople(t *testing.T) {
	cmd, _ := program(t, "serve", "--fd", "2000000") // a process of its own: it ignores signals
	said, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
	assert.Contains(t, string(said), "--fd: got descriptor 2000000: bad file descriptor, want the Unix socket that the Python package gives it")
}

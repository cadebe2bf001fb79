package ranks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const nobody = 65534

// as dials a socket as a user, in a thread of its own.
func as(t *testing.T, uid int, address string) net.Conn {
	t.Helper()
	dialled := make(chan net.Conn)
	go func() {
		runtime.LockOSThread() // the thread, which has another user, ends with the goroutine
		_, _, code := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
		assert.Zero(t, code)
		conn, err := net.Dial("unix", address)
		for range 100 {
			if !errors.Is(err, syscall.ECONNREFUSED) { // until the other end listens
				break
			}
			time.Sleep(again)
			conn, err = net.Dial("unix", address)
		}
		assert.NoError(t, err)
		dialled <- conn
	}()
	conn := <-dialled
	require.NotNil(t, conn)
	return conn
}

// Rank 0 refuses a process of another user, even if the socket's folder was opened to it, and waits on for its own ranks.
func TestAnotherUserIsNoRank(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := filepath.Join(t.TempDir(), "ranks")
	path := filepath.Join(dir, "socket")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	joined := make(chan error)
	go func() {
		g, err := Join(ctx, path, 0, 2)
		if err == nil {
			g.Leave(nil)
		}
		joined <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, 5*time.Second, time.Millisecond)
	for _, open := range []string{path, dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		require.NoError(t, os.Chmod(open, 0o777))
	}
	stranger := newLink(as(t, nobody, path))
	_, data, err := stranger.read()
	require.NoError(t, err)
	assert.Contains(t, string(data), (&OwnerError{nobody, 0}).Error())
	require.NoError(t, stranger.conn.Close())
	g, err := Join(ctx, path, 1, 2)
	require.NoError(t, err)
	g.Leave(nil)
	assert.NoError(t, <-joined)
}

// A connection of another user is an error with both users.
func TestTheOwnerOfAConnectionIsChecked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	listener, err := net.Listen("unix", fmt.Sprintf("@robocache-owner-%d", os.Getpid())) // in no folder, so that anybody can connect
	require.NoError(t, err)
	defer listener.Close()
	stranger := as(t, nobody, listener.Addr().String())
	conn, err := listener.Accept()
	require.NoError(t, err)
	var other *OwnerError
	require.ErrorAs(t, checkOwner(conn), &other)
	assert.Equal(t, OwnerError{nobody, 0}, *other)
	require.NoError(t, errors.Join(conn.Close(), stranger.Close()))
}

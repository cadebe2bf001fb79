package ranks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fault"
)

// socket is a path that is short enough for one.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ranks")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "in", "s")
}

// run makes n ranks that do fn each, and returns their errors.
func run(t *testing.T, n int, fn func(ctx context.Context, g *Group) error) []error {
	t.Helper()
	path := socket(t)
	errs := make([]error, n)
	var all sync.WaitGroup
	for rank := range n {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			g, err := Join(ctx, path, rank, n)
			if err == nil {
				err = fn(ctx, g)
				g.Leave(err)
				g.Leave(err)
			}
			errs[rank] = err
		})
	}
	all.Wait()
	list, err := os.ReadDir(filepath.Dir(path))
	if n > 1 {
		require.NoError(t, err)
	}
	assert.Empty(t, list, "the socket is gone")
	return errs
}

// A folder that anybody may have put there is none to meet in.
func TestALinkIsNoPlaceToMeet(t *testing.T) {
	path := socket(t)
	link := filepath.Dir(path)
	elsewhere := filepath.Join(filepath.Dir(link), "elsewhere")
	require.NoError(t, os.Mkdir(elsewhere, 0o755))
	require.NoError(t, os.Symlink(elsewhere, link))
	l, err := net.Listen("unix", filepath.Join(elsewhere, "s")) // somebody who would be rank 0
	require.NoError(t, err)
	defer l.Close()
	for rank := range 2 {
		_, err := Join(t.Context(), path, rank, 2)
		var bad *JoinError
		require.ErrorAs(t, err, &bad)
		assert.Contains(t, bad.Got, "another user")
	}
	st, err := os.Stat(elsewhere)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), st.Mode().Perm())
}

func TestAllHearWhatEachSays(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		for rank, err := range run(t, n, func(ctx context.Context, g *Group) error {
			for turn := range 50 {
				all, err := g.Exchange(ctx, fmt.Sprint("turn ", turn), fmt.Append(nil, turn, g.Rank()))
				if err != nil {
					return err
				}
				for rank, said := range all {
					assert.Equal(t, fmt.Sprint(turn, rank), string(said))
				}
			}
			return nil
		}) {
			assert.NoError(t, err, "rank %d of %d", rank, n)
		}
	}
}

// A rank that ends, in order or not, is an error in who still waits for it, and in who watches.
func TestALostRankIsKnownToAll(t *testing.T) {
	why := errors.New("the disk is full")
	for lost := range 3 {
		for _, killed := range []bool{false, true} {
			errs := run(t, 3, func(ctx context.Context, g *Group) error {
				if _, err := g.Exchange(ctx, "begin", nil); err != nil {
					return err
				}
				if g.Rank() == lost {
					if killed {
						g.end(why, func(*link) error { return nil }) // who is dead says nothing
						for _, l := range g.links {
							if l != nil {
								_ = l.conn.Close()
							}
						}
					}
					return why
				}
				heard := make(chan struct{})
				g.Watch(func() { close(heard) })
				<-heard
				_, err := g.Exchange(ctx, "after", nil)
				return err
			})
			for rank, err := range errs {
				var e *LostError
				switch {
				case rank == lost:
					assert.Equal(t, why, err)
				case assert.ErrorAs(t, err, &e):
					assert.Equal(t, lost, e.Rank)
					if !killed {
						assert.Equal(t, why.Error(), e.Why)
					}
				}
			}
		}
	}
}

func TestRanksThatAreApartAreToldSo(t *testing.T) {
	errs := run(t, 3, func(ctx context.Context, g *Group) error {
		_, err := g.Exchange(ctx, []string{"save", "save", "train"}[g.Rank()], nil)
		return err
	})
	var apart *ApartError
	require.ErrorAs(t, errs[0], &apart)
	assert.Equal(t, [2]int{0, 2}, apart.Ranks)
	for _, err := range errs[1:] {
		assert.ErrorContains(t, err, `rank 0 is at "save", rank 2 at "train"`)
	}
	errs = run(t, 2, func(ctx context.Context, g *Group) error {
		if g.Rank() == 1 {
			return nil
		}
		_, err := g.Exchange(ctx, "one more", nil)
		return err
	})
	assert.ErrorContains(t, errs[0], "rank 1 has ended: it is done")
	assert.NoError(t, errs[1])
}

// Who does not come, comes twice, or is somebody else, is told of; a socket that a program has left is no obstacle.
// Several that say that they are rank 0, and find the socket of one that was killed, do not take each other's for that.
func TestOfRanksThatAreTheFirstOneIs(t *testing.T) {
	path := socket(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for range 50 {
		var all sync.WaitGroup
		begin := make(chan struct{})
		listeners := make([]net.Listener, 8)
		for i := range listeners {
			all.Go(func() {
				<-begin
				var err error
				if listeners[i], err = listen(t.Context(), path); err != nil {
					assert.ErrorContains(t, err, "a rank 0 that is there already")
				}
			})
		}
		close(begin)
		all.Wait()
		n := 0
		for _, l := range listeners {
			if l != nil {
				l.(*net.UnixListener).SetUnlinkOnClose(false) // as one that was killed
				require.NoError(t, l.Close())
				n++
			}
		}
		require.Equal(t, 1, n)
	}
}

func TestJoinsThatCannotBe(t *testing.T) {
	path := socket(t)
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	for _, c := range [][2]int{{-1, 2}, {2, 2}, {0, 0}, {0, MaxCount + 1}} {
		_, err := Join(short(), path, c[0], c[1])
		assert.Error(t, err)
	}
	_, err := Join(short(), path, 1, 2)
	var e *JoinError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "no rank 0", e.Got)

	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	var all sync.WaitGroup
	var first, wrong error
	all.Go(func() { _, first = Join(short(), path, 0, 3) })
	all.Go(func() { _, wrong = Join(short(), path, 1, 2) })
	all.Go(func() {
		conn, err := net.Dial("unix", path)
		for range 10 {
			if err == nil {
				break
			}
			time.Sleep(again)
			conn, err = net.Dial("unix", path)
		}
		if assert.NoError(t, err) {
			_, _ = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			assert.NoError(t, conn.Close())
		}
	})
	all.Wait()
	assert.ErrorContains(t, first, "no rank 1")
	assert.ErrorIs(t, first, context.DeadlineExceeded)
	assert.ErrorContains(t, wrong, "got rank 1 of 2, want one of 3")
}

// A rank without a free descriptor ends at once, and rank 0 does not take the socket of another for one that was left.
func TestARankWithoutADescriptorEnds(t *testing.T) {
	path := socket(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	for _, op := range []string{"open", "lock", "stat", "create"} {
		for rank := range 2 {
			if rank == 1 && op != "open" {
				continue // only rank 0 makes the socket
			}
			restore := fault.Inject(func(o, _ string) error {
				if o == op {
					return syscall.EMFILE
				}
				return nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := Join(ctx, path, rank, 2)
			restore()
			assert.NoError(t, ctx.Err(), "rank %d waits", rank)
			cancel()
			var bad *JoinError
			require.ErrorAs(t, err, &bad)
			assert.ErrorIs(t, err, syscall.EMFILE)
			assert.FileExists(t, path)
		}
	}
}

package ranks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/robocache/robocache/internal/fault"
)

// JoinError is the reason why the ranks could not join.
type JoinError struct {
	Path      string // the path of the socket
	Got, Want string
	Err       error // the underlying error, or nil
}

func (e *JoinError) Error() string {
	text := fmt.Sprintf("ranks: at %s: got %s, want %s", e.Path, e.Got, e.Want)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *JoinError) Unwrap() error { return e.Err }

func joinError(path, got, want string, err error) error { return &JoinError{path, got, want, err} }

// OwnerError means that the process at the other end of a socket belongs to another user.
type OwnerError struct{ Got, Want int } // user IDs

func (e *OwnerError) Error() string {
	return fmt.Sprintf("got a process from user %d, want one from user %d", e.Got, e.Want)
}

const (
	again    = 20 * time.Millisecond // between two attempts to reach rank 0
	greeting = 10 * time.Second      // the limit for a new connection to send its rank
)

// Join waits until all ranks have joined at a path, which must be the same for all. Rank 0 makes a socket there; its folder must
// belong to the user alone. The socket is removed when all have joined. Join rejects a rank that has joined already or has
// another count. The caller gives ctx a deadline and calls Leave at the end. The error is a *JoinError.
func Join(ctx context.Context, path string, rank, count int) (*Group, error) {
	if count < 1 || count > MaxCount || rank < 0 || rank >= count {
		return nil, joinError(path, fmt.Sprintf("rank %d of %d", rank, count), fmt.Sprintf("a rank of 1 to %d", MaxCount), nil)
	}
	g := &Group{rank: rank, count: count, broken: make(chan struct{})}
	var err error
	if rank == 0 {
		g.links = make([]*link, count)
		err = g.gather(ctx, path)
	} else {
		g.links = make([]*link, 1)
		err = g.reach(ctx, path)
	}
	if err != nil {
		for _, l := range g.links {
			if l != nil {
				_ = l.conn.Close()
			}
		}
		return nil, err
	}
	for i, l := range g.links {
		if l != nil {
			l.rank = i
			g.readers.Go(func() { g.listen(l) })
		}
	}
	return g, nil
}

// gather is Join for rank 0.
func (g *Group) gather(ctx context.Context, path string) error {
	if g.count == 1 {
		return nil
	}
	dir := filepath.Dir(path)
	if err := fault.MkdirAll(dir, 0o700); err != nil {
		return joinError(path, "no folder for the socket", "one that can be made", err)
	}
	if err := private(dir); err != nil {
		return joinError(path, "another user's folder", "one of this user", err)
	}
	listener, err := listen(ctx, path)
	if err != nil {
		return err
	}
	defer listener.Close()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	var refused error
	for there := 1; there < g.count; {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return joinError(path, fmt.Sprintf("no rank %d", g.missing()), fmt.Sprintf("%d ranks, all from this machine and one launcher", g.count), errors.Join(refused, ctx.Err()))
			}
			return joinError(path, "no connection", "one", err)
		}
		l := newLink(conn)
		rank := 0
		if err = checkOwner(conn); err == nil {
			rank, err = g.greet(l)
		}
		if err != nil {
			refused = err
			_ = l.write(left, appendLeft(nil, &LostError{Why: err.Error()})) // the other end may be gone
			_ = conn.Close()
			continue
		}
		g.links[rank] = l
		there++
	}
	for rank, l := range g.links {
		if l == nil {
			continue
		}
		if err := l.write(hello, nil); err != nil {
			return joinError(path, fmt.Sprintf("a rank %d that has ended", rank), "one that is there", err)
		}
	}
	return nil
}

// listen makes the socket, and replaces one that no process listens to. If two processes are rank 0 at the same time, the second
// finds the first and fails.
func listen(ctx context.Context, path string) (net.Listener, error) {
	unlock, err := lock(filepath.Dir(path))
	if err != nil {
		return nil, joinError(path, "a folder that cannot be locked", "one that can", err)
	}
	defer unlock()
	conn, err := dial(ctx, path)
	if err == nil {
		_ = conn.Close()
		return nil, joinError(path, "a rank 0 that is there already", "one", nil)
	}
	if failed(err) || errors.Is(err, syscall.EAGAIN) { // EAGAIN: the queue of a rank 0 is full
		return nil, joinError(path, "a socket that cannot be looked at", "one that can", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, joinError(path, "something that is there already", "nothing", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, joinError(path, "no socket", "one", err)
	}
	return listener, nil
}

func dial(ctx context.Context, path string) (net.Conn, error) {
	return fault.Call("open", path, func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) })
}

// failed reports whether a failed dial proves nothing about the other end.
func failed(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EACCES)
}

// private restricts a folder to its owner, which only the owner can do. A link is rejected, because it may lead to another user's
// folder.
func private(dir string) error {
	st, err := fault.Lstat(dir)
	if err == nil && !st.IsDir() {
		err = errors.New("it is no folder")
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// missing returns the first rank that has not joined, or 0 if all have joined.
func (g *Group) missing() int {
	for rank, l := range g.links {
		if rank > 0 && l == nil {
			return rank
		}
	}
	return 0
}

// greet reads the rank from a new connection. It returns an error if the rank is out of range, has joined already, or has another
// count.
func (g *Group) greet(l *link) (int, error) {
	if err := l.conn.SetReadDeadline(time.Now().Add(greeting)); err != nil {
		return 0, err
	}
	kind, data, err := l.read()
	if err != nil {
		return 0, err
	}
	if kind != hello || len(data) != 8 {
		return 0, errors.New("somebody who is no rank")
	}
	rank, count := int(binary.LittleEndian.Uint32(data)), int(binary.LittleEndian.Uint32(data[4:]))
	switch {
	case count != g.count || rank < 1 || rank >= g.count:
		return 0, fmt.Errorf("got rank %d of %d, want one of %d", rank, count, g.count)
	case g.links[rank] != nil:
		return 0, fmt.Errorf("got a second rank %d", rank)
	}
	return rank, l.conn.SetReadDeadline(time.Time{})
}

// reach is Join for the other ranks.
func (g *Group) reach(ctx context.Context, path string) error {
	for {
		conn, err := dial(ctx, path)
		if err == nil {
			g.links[0] = newLink(conn)
			break
		}
		if failed(err) {
			return joinError(path, "no socket", "one", err)
		}
		select {
		case <-ctx.Done():
			return joinError(path, "no rank 0", "one from this machine and the same launcher", errors.Join(err, ctx.Err()))
		case <-time.After(again):
		}
	}
	if err := checkOwner(g.links[0].conn); err != nil {
		return joinError(path, "another user's rank 0", "one of this user", err)
	}
	if err := private(filepath.Dir(path)); err != nil { // because the listener at the socket may choose which memory is opened
		return joinError(path, "another user's folder", "one of this user", err)
	}
	l := g.links[0]
	stop := context.AfterFunc(ctx, func() { _ = l.conn.Close() })
	defer stop()
	data := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(g.rank)), uint32(g.count))
	if err := l.write(hello, data); err != nil {
		return joinError(path, "no rank 0", "one", err)
	}
	kind, data, err := l.read()
	switch {
	case err != nil && ctx.Err() != nil:
		return joinError(path, "ranks that are missing", fmt.Sprintf("all %d", g.count), ctx.Err())
	case err != nil:
		return joinError(path, "a rank 0 that has ended", "one that is there", err)
	case kind == left:
		lost, err := parseLeft(data)
		if err != nil {
			return joinError(path, "an answer that is cut short", "a whole one", err)
		}
		return joinError(path, "to be refused", "to be let in", errors.New(lost.Why))
	}
	return nil
}

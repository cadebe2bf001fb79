package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// role is the environment variable with the test binary's role in a child process: a child, a trainer with a child, or a holder that keeps
// a socket open.
const role = "ROBOCACHE_SERVE_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "child":
		signal.Ignore(os.Interrupt, syscall.SIGHUP)
		err := Run(context.Background(), 3, "(devel)", func() { os.Exit(0) })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "trainer":
		trainer()
	case "holder":
		time.Sleep(time.Minute)
		os.Exit(0)
	case "orphan": // it waits for its parent without a socket to ask
		fmt.Println("waits")
		waitParent(-1)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// as returns a command that runs this program in a role.
func as(what string, files ...*os.File) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+what, "GORACE=atexit_sleep_ms=0") // the race detector's programs would end a second late
	cmd.ExtraFiles = files
	return cmd
}

// start starts a child, and returns a client for it.
func start(t testing.TB) (*client, *exec.Cmd) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	theirs := os.NewFile(uintptr(fds[1]), "socket")
	cmd := as("child", theirs)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	s, err := newSocket(fds[0])
	require.NoError(t, err)
	return &client{t: t, s: s}, cmd
}

// trainer starts a child and a process that holds its end of the socket, prints their process ids and waits.
func trainer() {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	child := as("child", os.NewFile(uintptr(fds[1]), "socket"))
	holder := as("holder", os.NewFile(uintptr(fds[0]), "socket"))
	orphan := as("orphan")
	waits, err := orphan.StdoutPipe()
	if err != nil {
		panic(err)
	}
	for _, cmd := range []*exec.Cmd{child, holder, orphan} {
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	// When hello is answered the child waits for this process.
	s, _ := newSocket(fds[0])
	c := &client{s: s}
	if a, err := c.try("hello", object{"protocol": Protocol}, nil); err != nil || a.object["ok"] != true {
		panic(fmt.Sprint(a.object, err))
	}
	if _, err := io.ReadFull(waits, make([]byte, len("waits"))); err != nil {
		panic(err)
	}
	fmt.Println(child.Process.Pid, holder.Process.Pid, orphan.Process.Pid)
	time.Sleep(time.Minute)
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}

func TestTheChildEndsWithItsParentThoughOthersHoldTheSocket(t *testing.T) {
	cmd := as("trainer")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	var child, holder, orphan int
	_, err = fmt.Sscan(line, &child, &holder, &orphan)
	require.NoError(t, err)
	defer func() { _ = syscall.Kill(holder, syscall.SIGKILL) }()
	time.Sleep(50 * time.Millisecond)
	require.True(t, alive(child) && alive(holder) && alive(orphan))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	killed := time.Now()
	for alive(child) || alive(orphan) {
		require.Less(t, time.Since(killed), time.Minute, "child %v, orphan %v", alive(child), alive(orphan))
		time.Sleep(time.Millisecond)
	}
	assert.True(t, alive(holder), "it held the socket all the time")
}

func TestTheChildEndsAtTheEndOfTheSocket(t *testing.T) {
	c, cmd := start(t)
	c.hello()
	require.NoError(t, c.s.Close())
	assert.NoError(t, cmd.Wait())
}

func TestTheChildEndsOnSIGTERMAndLeavesInterruptsToItsParent(t *testing.T) {
	c, cmd := start(t)
	c.hello()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		require.NoError(t, cmd.Process.Signal(s))
		c.newArena(1) // the connection continues
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	err := cmd.Wait()
	require.Error(t, err)
	assert.Equal(t, syscall.SIGTERM, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.NoError(t, c.s.Close())
	c.unmap()
}

// If a child is killed during its work, there is either a reply and the whole output, or no reply. A wrong value never looks right.
func TestAKilledChildIsAnErrorAndNeverAWrongValue(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	const n = 20_000
	rounds := thorough.Of(40, 100)
	files, arenas := openFiles(t), map[uint64]bool{}
	src, times := of(ramp(n, 1), n, 1), of(ticks(n, 1000), n)
	want, err := raw.Of(src) // at its own times
	require.NoError(t, err)
	good := 0
	for round := range rounds {
		c, cmd := start(t)
		c.hello()
		c.newArena(1 << 20)
		arenas[c.inode] = true
		if round == 0 {
			require.Equal(t, 1, memfds(t, arenas), "the child's")
		}
		request := object{"op": "resample", "tensors": object{"Src": c.put(src), "SrcTimes": c.put(times), "Targets": c.put(times)}}
		outputs := []object{c.place(tensor.F32, n, 1), c.place(tensor.F32, n, 1)}
		killed := make(chan error)
		go func() {
			time.Sleep(rand.N(4 * time.Millisecond))
			killed <- cmd.Process.Kill()
		}()
		for i := 0; ; i++ {
			dst := outputs[i%2]
			at := dst["at"].(int)
			clear(c.arena[at : at+4*n])
			request["tensors"].(object)["Dst"] = dst
			a, err := c.try("compute", object{"request": request}, nil)
			if err != nil {
				break
			}
			require.Equal(t, true, a.object["ok"])
			require.Equal(t, want, c.get(dst))
			good++
		}
		require.NoError(t, <-killed)
		require.Error(t, cmd.Wait())
		assert.False(t, alive(cmd.Process.Pid))
		require.NoError(t, c.s.Close())
		c.unmap()
	}
	assert.Positive(t, good, "computed before the child was killed")
	assert.Len(t, arenas, rounds)
	assert.Zero(t, memfds(t, arenas), "memory that is left, in any process")
	assert.Equal(t, files, openFiles(t))
}

// memfds counts this user's descriptors of memfds with an inode in the set.
func memfds(t testing.TB, of map[uint64]bool) (n int) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/fd/*")
	require.NoError(t, err)
	for _, name := range list {
		var stat unix.Stat_t
		link, err := os.Readlink(name)
		if err == nil && strings.HasPrefix(link, "/memfd:robocache") && unix.Stat(name, &stat) == nil && of[stat.Ino] {
			n++
		}
	}
	return n
}

// Requests leave nothing in the child.
func TestTheChildDoesNotGrowWithRequests(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	c, cmd := start(t)
	c.hello()
	c.newArena(1 << 20)
	points := c.put(of(ramp(3*5000, .01), 5000, 3))
	voxels := object{"op": "voxelize", "grid": object{"min": []int{0, 0, 0}, "max": []int{10, 10, 10}, "size": []float64{1, 2, 2.5}}, "tensors": object{"Points": points, "Grid": c.place(tensor.U8, 4, 5, 10)}}
	resample := object{"op": "resample", "clock": object{"start": 0, "rate": 1e9, "count": 100}, "tensors": object{
		"Src": c.put(of(ramp(500, 1), 100, 5)), "SrcTimes": c.put(of(ticks(100, 1), 100)), "Dst": c.place(tensor.F32, 100, 5)}}
	work := func() {
		for range thorough.Of(250, 500) {
			c.good("compute", object{"request": voxels})
			c.good("compute", object{"request": resample})
			c.bad("compute", object{"request": object{"op": "none"}})
		}
	}
	work()
	first := resident(t, cmd.Process.Pid)
	for range 4 {
		work()
	}
	assert.Less(t, resident(t, cmd.Process.Pid), first+8<<20, "bytes of its own after 5 times as many requests; %d after the first", first)
	require.NoError(t, c.s.Close())
	require.NoError(t, cmd.Wait())
	c.unmap()
}

// resident returns the private memory of a process.
func resident(t testing.TB, pid int) int {
	t.Helper()
	text := filetest.Read(t, fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(text)) {
		if kb, ok := strings.CutPrefix(line, "Anonymous:"); ok {
			n, err := strconv.Atoi(strings.Fields(kb)[0])
			require.NoError(t, err)
			return n << 10
		}
	}
	t.Fatal("no Anonymous in smaps_rollup")
	return 0
}

// After an upload to a GPU, the process keeps neither the recordings nor buffers for reading them.
func TestAResidentLoaderKeepsNoMemoryOfItsOwn(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	const samples, width = 400_000, 50 // 80 MB
	path := filepath.Join(t.TempDir(), "a.npz")
	require.NoError(t, atomicfile.WriteFile(path, func(to io.Writer) error {
		w := npz.NewWriter(to, npz.Options{})
		return errors.Join(w.Add("state.times", of(ticks(samples, 1e7), samples)), w.Add("state.values", of(make([]float32, samples*width), samples, width)), w.Close())
	}))
	c := connect(t)
	c.good("target", object{"target": described()})
	taken := func() uint64 { // from the system, for Go's memory
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapSys - m.HeapReleased
	}
	debug.FreeOSMemory()
	before := taken()
	a := c.good("resident", object{"target": 0, "paths": []string{path}, "batch": 8, "hz": 50})
	require.NoError(t, a.file.Close())
	assert.Less(t, taken(), before+4*samples*width*3/2, "what reading left, beside the dataset")
	for again := false; ; {
		u := c.good("upload", nil).object
		if _, more := u["piece"]; more {
			continue
		}
		require.Contains(t, u, "batch")
		assert.Less(t, taken(), before+20<<20)
		if again {
			break
		}
		again = true
	}
	c.good("report", nil)
}

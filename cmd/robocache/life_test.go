//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// TestMain is the program itself where a test runs it so.
func TestMain(m *testing.M) {
	if os.Getenv("ROBOCACHE_MEASURED") != "" {
		os.Unsetenv("ROBOCACHE_MEASURED")
		os.Exit(measure(os.Args[1:]))
	}
	if os.Getenv("ROBOCACHE_AS_PROGRAM") != "" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if signal.Ignored(os.Interrupt) { // a job of a script, which programs that tests interrupt would inherit
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	debug.SetGCPercent(400) // the compiled kernels of the simulated device stay on the heap, and each collection marks them
	os.Exit(m.Run())
}

// program returns a command line as a separate process. Its temporary files are in a folder of the test.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, temp string) {
	t.Helper()
	temp = t.TempDir()
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "ROBOCACHE_AS_PROGRAM=1", "TMPDIR="+temp)
	return cmd, temp
}

// whenWriting waits until there is something in a folder, or something that is not empty, or the writer has ended.
func whenWriting(dir string, much bool, ended chan struct{}) {
	for {
		list, _ := os.ReadDir(dir)
		for _, e := range list {
			if info, err := e.Info(); err == nil && (!much || info.Size() > 0) {
				return
			}
		}
		select {
		case <-ended:
			return
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// A signal at any moment ends each command with that signal, and no incomplete file stays.
func TestASignalLeavesNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	values := tensor.Must(tensor.New(tensor.F32, 10_000, 4))
	times := make([]int64, 10_000)
	for i := range times {
		times[i] = int64(i) * 1e6
	}
	clock := tensor.Must(tensor.Of(times, len(times)))
	batch := writeNPZ(t, map[string]*tensor.Tensor{"values": values, "times": clock})
	streams := writeNPZ(t, map[string]*tensor.Tensor{"a.values": values, "a.times": clock})
	points := writeNPZ(t, map[string]*tensor.Tensor{"points": tensor.Must(tensor.New(tensor.F32, 100_000, 3))})
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	commands := map[string][]string{
		"resample": {"resample", batch, "--hz=5000"}, "fuse": {"fuse", streams, "--hz=5000"},
		"voxelize": {"voxelize", points, "--size=.02", "--min=0,0,0", "--max=4,4,4"}, "profile": {"profile", "resample", batch, "--hz=5"},
	}
	for number, name := range slices.Sorted(maps.Keys(commands)) {
		t.Run(name, func(t *testing.T) {
			args := commands[name]
			for i := range thorough.Of(2, 3) { // by default each signal ends two commands or more
				sig := signals[(number+i)%3]
				dir := t.TempDir()
				out := filepath.Join(dir, "out.npz")
				cmd, temp := program(t, append(args, "-o", out, "--plot", filepath.Join(dir, "out.png"))...)
				if name != "profile" {
					cmd.Args = append(cmd.Args, "--backend=cpu")
				}
				require.NoError(t, cmd.Start())
				ended := make(chan struct{})
				go func() {
					_ = cmd.Wait()
					close(ended)
				}()
				whenWriting(dir, i > 0, ended)
				_ = cmd.Process.Signal(sig)
				<-ended
				status := cmd.ProcessState.Sys().(syscall.WaitStatus)
				if left := listed(t, dir); len(left) > 0 { // it was faster: all of it is there then
					assert.Equal(t, []string{"out.npz", "out.png"}, left)
				} else {
					assert.False(t, status.Exited() && status.ExitStatus() == 0)
				}
				if !status.Exited() {
					assert.Equal(t, sig, status.Signal(), "its parent sees what ended it")
				}
				assert.Empty(t, listed(t, temp))
			}
		})
	}
}

// An output that cannot be written is found before the input is read.
func TestAnUnwritableOutputIsFoundBeforeTheWork(t *testing.T) {
	dir := t.TempDir()
	corrupt := filepath.Join(dir, "corrupt.npz")
	require.NoError(t, os.WriteFile(corrupt, []byte("no archive"), 0o600))
	for _, args := range [][]string{{"resample", corrupt, "--hz=1"}, {"fuse", corrupt, "--hz=1"}, {"voxelize", corrupt, "--size=1"}} {
		none := filepath.Join(dir, "none", "out.npz")
		code, stdout, stderr := execute(append(args, "-o", none)...)
		assert.Equal(t, exitOther, code)
		assert.Empty(t, stdout)
		assert.Equal(t, "robocache: write "+none+": no such file or directory\n", stderr, "once, and of the name that was given")
		code, _, stderr = execute(append(args, "-o", filepath.Join(dir, "out.npz"), "--plot", filepath.Join(dir, "none", "p.png"))...)
		assert.Equal(t, exitOther, code)
		assert.Contains(t, stderr, "p.png: no such file")
		assert.Equal(t, []string{"corrupt.npz"}, listed(t, dir))
	}
}

func TestALinkIsWrittenThrough(t *testing.T) {
	dir := t.TempDir()
	far := filepath.Join(dir, "far")
	require.NoError(t, os.Mkdir(far, 0o700))
	link := filepath.Join(dir, "out.npz")
	require.NoError(t, os.Symlink(filepath.Join(far, "target.npz"), link))
	good(t, "resample", "testdata/ramp.npz", "-o", link, "--backend=cpu")
	st, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, st.Mode()&os.ModeSymlink)
	assert.Equal(t, []string{"target.npz"}, listed(t, far))
	// The input through a link is the input.
	in, err := os.ReadFile("testdata/ramp.npz")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(far, "target.npz"), in, 0o600))
	code, _, stderr := execute("resample", filepath.Join(far, "target.npz"), "-o", link)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "is the input")
}

// Every format can come from a pipe, and messages name the pipe.
func TestReadingFromAPipe(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return data
	}
	for _, c := range []struct {
		data []byte
		args []string
	}{
		{read(flight), []string{"resample", "--hz=50", "--stream=airspeed"}},
		{read(flight), []string{"fuse", "--hz=50", "--stream=airspeed"}},
		{read("testdata/ramp.npz"), []string{"resample"}},
		{read(flight), []string{"inspect"}},
		{[]byte("VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 3\nHEIGHT 1\nPOINTS 3\nDATA ascii\n0 0 0\n1 1 1\n2 2 2\n"), []string{"voxelize", "--size=1"}},
		{make([]byte, 20), []string{"voxelize", "--size=1", "--columns=x,y,z,intensity,ring"}},
		{[]byte("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n"), []string{"voxelize", "--size=1"}},
	} {
		if c.args[0] != "inspect" {
			c.args = append(c.args, "--backend=cpu", "-o", filepath.Join(dir, "out.npz"))
		}
		cmd, temp := program(t, append(c.args, "/dev/stdin")...)
		cmd.Stdin = io.MultiReader(bytes.NewReader(c.data)) // no file, so that it is a pipe
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", c.args, out)
		assert.NotContains(t, string(out), temp)
		t.Setenv("TMPDIR", temp)
		var said bytes.Buffer
		require.Equal(t, exitGood, run(append(c.args, "-"), bytes.NewReader(c.data), &said, &said), "%v: %s", c.args, &said)
		assert.NotContains(t, said.String(), temp)
		// The same bytes with an error in them: the pipe is named.
		said.Reset()
		assert.NotEqual(t, exitGood, run(append(c.args, "-"), strings.NewReader("no such format"), &said, &said))
		assert.Regexp(t, "^robocache: (kitti: )?-: ", said.String())
		assert.NotContains(t, said.String(), temp)
		assert.Empty(t, listed(t, temp))
	}
}

// A report that cannot be written is a failure, and a failed command leaves no output.
func TestAReportThatCannotBeWrittenLeavesNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	defer full.Close()
	points := writeNPZ(t, map[string]*tensor.Tensor{"points": tensor.Must(tensor.New(tensor.F32, 5, 3))})
	for _, args := range [][]string{{"resample", "testdata/ramp.npz"}, {"voxelize", points, "--size=1"}, {"resample", "testdata/ramp.npz", "--json"}} {
		dir := t.TempDir()
		cmd, _ := program(t, append(args, "-o", filepath.Join(dir, "o.npz"), "--backend=cpu")...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		require.Error(t, cmd.Run())
		assert.Contains(t, stderr.String(), "no space left")
		assert.Empty(t, listed(t, dir))

		// A reader that is gone ends the command as it would any other, and as quietly.
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		cmd, _ = program(t, append(args, "-o", filepath.Join(dir, "o.npz"), "--backend=cpu")...)
		stderr.Reset()
		cmd.Stdout, cmd.Stderr = write, &stderr
		require.Error(t, cmd.Run())
		require.NoError(t, write.Close())
		assert.Equal(t, syscall.SIGPIPE, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
		assert.Empty(t, stderr.String())
		assert.Empty(t, listed(t, dir))
	}
}

func TestNoOutputIsAnotherFileOfTheCommand(t *testing.T) {
	dir := t.TempDir()
	out, plot, plan := filepath.Join(dir, "o.npz"), filepath.Join(dir, "p.png"), filepath.Join(dir, "plan.png")
	require.NoError(t, os.Symlink("one", out))
	require.NoError(t, os.Symlink("one", plot))
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 1\n"), 0o600))
	for want, args := range map[string][]string{"is the output": {"--plot", plot}, "is the input": {"--plan", plan, "--plot", plan}} {
		code, _, stderr := execute(append([]string{"resample", "testdata/ramp.npz", "-o", out}, args...)...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, want)
	}
}

// A pipe has one name: in JSON, in errors under profile, and in messages about slow steps.
func TestAPipeHasOneName(t *testing.T) {
	ramp, err := os.ReadFile("testdata/ramp.npz")
	require.NoError(t, err)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.npz")
	fifo := filepath.Join(dir, "a\"b.npz")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	fill := func() {
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err == nil {
			_, _ = f.Write(ramp)
			_ = f.Close()
		}
	}
	go fill()
	stdout, _ := good(t, "resample", fifo, "-o", out, "--backend=cpu", "--json")
	assert.Equal(t, fifo, unmarshal(t, stdout)["input"])

	var said, stdin2 bytes.Buffer
	stdin2.WriteString("no such format")
	code := run([]string{"profile", "resample", "-", "--hz=1"}, &stdin2, io.Discard, &said)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, said.String(), "robocache: -: ")

	var told []string
	a := newApp(bytes.NewReader(ramp), io.Discard, io.Discard)
	a.Announce = func(what string) func() { told = append(told, what); return func() {} }
	root := a.command()
	root.SetArgs([]string{"resample", "-", "-o", out, "--backend=cpu"})
	require.NoError(t, root.Execute())
	assert.Equal(t, []string{"reading -", "reading -", "resampling", "writing " + out}, told)
}

// Each slow step is announced. TestALongStepIsShownAndTakenAway tests the display.
func TestStepsAreTold(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.npz")
	points := writeNPZ(t, map[string]*tensor.Tensor{"points": tensor.Must(tensor.New(tensor.F32, 5, 3))})
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"resample", "testdata/ramp.npz"}, []string{"reading testdata/ramp.npz", "resampling", "writing " + out}},
		{[]string{"fuse", flight, "--hz=1", "--stream=airspeed"}, []string{"reading " + flight, "fusing", "writing " + out}},
		{[]string{"voxelize", points, "--size=1"}, []string{"reading " + points, "voxelizing", "writing " + out}},
	} {
		var told []string
		ended := 0
		a := newApp(strings.NewReader(""), io.Discard, io.Discard)
		a.Announce = func(what string) func() {
			told = append(told, what)
			return func() { ended++ }
		}
		root := a.command()
		root.SetArgs(append(c.args, "-o", out, "--backend=cpu"))
		require.NoError(t, root.Execute())
		assert.Equal(t, c.want, told)
		assert.Equal(t, len(told), ended)
	}
}

// measure runs sh with arguments and prints a zero and its most memory, bytes. A child of a test has that of the test at least, so that another
// process starts it.
func measure(args []string) int {
	cmd := exec.Command("sh", args...)
	cmd.Stderr = os.Stderr
	_ = cmd.Run()
	fmt.Fprintf(os.Stderr, "\x00%d", cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

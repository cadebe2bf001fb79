package robocache_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// figures runs figures.sh with scripts in place of robocache and python, into a folder.
func figures(t *testing.T, robocache, python, to string, args ...string) (string, int) {
	filetest.NeedPrograms(t, "bash")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "robocache"), []byte("#!/bin/sh\n"+robocache), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "python"), []byte("#!/bin/sh\n"+python), 0o755))
	cmd := exec.Command("bash", append([]string{"scripts/figures.sh", "--robocache", filepath.Join(dir, "robocache"), "--python", filepath.Join(dir, "python"), to}, args...)...)
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); !failed {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// What it measures is the command that it is given; of a file it says which, and what beside it.
const told = `case " $* " in
*" --from "*) shift 2; echo "table of $(basename "$1") $(basename "$3")" ;;
*" --launch ready "*) echo "no such mode" >&2; exit 3 ;;
" info --json ") echo '"backend": "cuda"'; echo '"backend": "cuda"' ;;
*) echo "$*" ;;
esac
`

func TestFiguresAreMeasuredInOneRun(t *testing.T) {
	to := filepath.Join(t.TempDir(), "figures")
	out, code := figures(t, told, `[ "$1" = -c ] || { shift; echo "$*"; cat; }`, to, "--sweep", "7", "--limit", "90s", "--quick")
	assert.Equal(t, 1, code, "a step failed: %s", out)
	assert.Contains(t, out, "figures: ready failed: no such mode")
	read := func(name string) string {
		text := filetest.Read(t, filepath.Join(to, name))
		return string(text)
	}
	assert.Equal(t, "bench --backend cuda resample forms fuse voxelize --time 20ms --batch 3ms --samples 9 --json\n", read("ours.json"))
	assert.Equal(t, "--batch 0.003 --samples 9\nbench --backend cuda resample fuse voxelize --list --json\n", read("torch.json"), "handed to PyTorch's side")
	assert.Equal(t, "bench --backend cuda --sweep 7 --seed 11 --limit 90s --time 10ms --batch 2ms --samples 5 --json\n", read("sweep.json"))
	scaling := strings.Fields(read("scaling.md"))
	require.Len(t, scaling, 6, "of two GPUs: %s", scaling)
	assert.DirExists(t, scaling[2])
	assert.Equal(t, []string{"--eager", "--benchtime", "300x"}, scaling[3:], "beside PyTorch, and quick")
	assert.NoFileExists(t, filepath.Join(to, "ready.json"))
	assert.Equal(t, "## ours\n\ntable of ours.json torch.json\n\n## dependent\n\ntable of dependent.json \n\n## launch\n\ntable of launch.json \n\n## sweep\n\ntable of sweep.json 20\n\n", read("figures.md"))
	_, code = figures(t, told, "exit 1", to)
	assert.Equal(t, 2, code, "the folder is not empty")
}

// A signal, a batch system's for example, ends it early: what was measured is there, as a table too.
func TestFiguresThatAreCutShort(t *testing.T) {
	for name, c := range map[string]struct {
		slow string // what the third step does when it is told to end
		cut  bool   // and whether it leaves figures
	}{"with figures": {`echo cut; exit 1`, true}, "without": {`exit 1`, false}} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "figures")
			stub := `case " $* " in
*" --from "*) [ -s "$3" ] && echo "table of $(basename "$3")" ;;
*" --launch dependent "*) trap '` + c.slow + `' TERM; kill -TERM $(ps -o ppid= -p $PPID); for i in $(seq 1000); do sleep .1; done ;;
*) echo "$*" ;;
esac
`
			out, code := figures(t, stub, "exit 1", to)
			assert.Equal(t, 1, code, out)
			assert.FileExists(t, filepath.Join(to, "ours.json"))
			assert.NoFileExists(t, filepath.Join(to, "ready.json"))
			assert.NoFileExists(t, filepath.Join(to, "sweep.json"))
			text := filetest.Read(t, filepath.Join(to, "figures.md"))
			want := "## ours\n\ntable of ours.json\n\n"
			if c.cut {
				want += "## dependent\n\ntable of dependent.json\n\n"
			}
			assert.Equal(t, want, string(text))
		})
	}
}

func TestFiguresWithoutPyTorch(t *testing.T) {
	to := filepath.Join(t.TempDir(), "figures")
	out, code := figures(t, `[ "$2" != --from ] || exec echo; echo "$*"`, "exit 1", to, "--sweep", "0", "--backend", "cpu")
	assert.Equal(t, 0, code, out)
	assert.Contains(t, out, "PyTorch is left out")
	assert.NoFileExists(t, filepath.Join(to, "torch.json"))
	assert.NoFileExists(t, filepath.Join(to, "scaling.md"))
	assert.NoFileExists(t, filepath.Join(to, "sweep.json"))
}

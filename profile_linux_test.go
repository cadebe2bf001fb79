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

// profile runs profile.sh with scripts in place of robocache and ncu.
func profile(t *testing.T, robocache, ncu string, args ...string) (string, int) {
	filetest.NeedPrograms(t, "bash", "awk", "sed", "grep")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "robocache"), []byte("#!/bin/sh\n"+robocache), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ncu"), []byte("#!/bin/sh\n"+ncu), 0o755))
	cmd := exec.Command("bash", append([]string{"scripts/profile.sh", "--robocache", filepath.Join(dir, "robocache")}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); !failed {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// The profiled program lists one job, and runs it if the expression that it is given matches that job alone.
const profiled = `case " $* " in
*" --list "*) echo "fuse       4x(30x5+9x2)->50" ;;
*) while [ "$1" != --only ]; do shift; done
   printf 'fuse 4x(30x5+9x2)->50\n' | grep -qE "$2" || exit 7
   printf 'fuse 4x(30x5+9x2)->50 f32\n' | grep -qE "$2" && exit 8
   echo "fuse 4x(30x5+9x2)->50: 3 runs, 2000000 bytes read, 500000 written, at least, each" ;;
esac
`

// The profiler's table, as ncu --csv --page raw writes it: units below the head, digits in groups.
const counted = `while [ "$1" != --log-file ]; do shift; done
log=$2; shift 2
cat >"$log" <<'CSV'
==PROF== Connected to process 1
"ID","Kernel Name","dram__bytes_read.sum","dram__bytes_write.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio","launch__registers_per_thread","sm__warps_active.avg.pct_of_peak_sustained_active"
"","","byte","byte","%","ns","","register/thread","%"
"0","fuse_bf16(Job, int)","2,100,000","400,000","70.5","6,000","15.5","48","60.25"
"1","fuse_bf16(Job, int)","2,300,000","420,000","71.5","9,000","15.5","48","60.25"
"2","fuse_bf16(Job, int)","2,200,000","410,000","72.5","7,000","15.5","48","60.25"
CSV
exec "$@"
`

func TestProfileScriptPutsOurBytesBesideTheCounters(t *testing.T) {
	out, code := profile(t, profiled, counted, "fuse")
	require.Equal(t, 0, code, out)
	line := strings.Join(strings.Fields(out[strings.Index(out, "fuse_bf16"):]), " ")
	assert.Equal(t, "fuse_bf16 7.00 2.20 / 2.00 MB 0.41 / 0.50 MB 71.5 60.2 48 15.5", line, "medians, in microseconds and megabytes")
}

func TestProfileScriptSaysWhatFails(t *testing.T) {
	out, code := profile(t, profiled, `echo "no leave to read the counters" >&2; exit 1`)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "no leave to read the counters")
	out, code = profile(t, profiled, counted, "--runs", "0")
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "--runs is 0")
}

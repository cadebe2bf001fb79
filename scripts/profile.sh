#!/usr/bin/env bash
# profile.sh runs NVIDIA's profiler ncu over jobs of robocache bench. See usage below.
set -euo pipefail

usage() {
	cat <<'USAGE'
usage: scripts/profile.sh [--robocache PATH] [--runs N] [--backend NAME] [--shapes FILE] [REGEXP]

Run each job of robocache bench that matches REGEXP (suite and name; the resample suite's unless given, or all of FILE's) under ncu,
and print, for each kernel that it launches, the hardware's counters beside the least bytes that robocache counts for a call:

  us          time of the kernel, with the clocks as they are and the caches flushed before it
  read/least  bytes read from DRAM, and the least that the job must read
  wrote/least the same of bytes written; what stays in the L2 cache is not written yet
  dram%       share of the memory's peak throughput
  warps%      share of the warp slots that were in use
  regs        registers a thread
  L1 sect     32-byte pieces that a load request takes on average: 4 is dense for 4-byte elements, 16 for 16-byte ones

  --robocache PATH  the program (default: robocache beside this script, in the folder above it, or in PATH)
  --runs N          runs of each job that are measured; medians are printed (default 3)
  --backend NAME    the device, as robocache takes it (default cuda)
  --shapes FILE     the jobs are those of this file, as robocache bench takes it

It needs ncu, from the CUDA toolkit or on its own, and leave to read the counters.
USAGE
}

die() {
	echo "profile: $*" >&2
	exit 2
}

program='' runs=3 backend=cuda pattern='' shapes=()
while [ $# -gt 0 ]; do
	case $1 in
	--robocache | --runs | --backend | --shapes)
		[ $# -gt 1 ] || die "$1 needs a value"
		case $1 in
		--robocache) program=$2 ;;
		--runs) runs=$2 ;;
		--shapes) shapes=(--shapes "$2") ;;
		--backend) backend=$2 ;;
		esac
		shift
		;;
	-h | --help)
		usage
		exit
		;;
	-*) die "no such option: $1" ;;
	*) pattern=$1 ;;
	esac
	shift
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || die "--runs is $runs, and must be a whole number above 0"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -z "$program" ]; then
	for p in "$here/robocache" "$here/../robocache" "$(command -v robocache || true)"; do
		if [ -x "$p" ] && [ ! -d "$p" ]; then
			program=$p
			break
		fi
	done
fi
[ -n "$program" ] || die "no robocache beside this script or in PATH: give --robocache PATH"
ncu=$(command -v ncu || ls /usr/local/cuda*/bin/ncu 2>/dev/null | tail -n 1 || true)
[ -n "$ncu" ] || die "no ncu here, in PATH or under /usr/local/cuda"

metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
metrics=$metrics,sm__warps_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread
metrics=$metrics,l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# counters reads ncu's table and prints a line for each kernel: medians over its launches.
counters() {
	awk -v read="$2" -v written="$3" '
	function field(name,  i) {
		for (i = 1; i <= n; i++) if (head[i] == name) return i
		print "profile: ncu gave no column " name > "/dev/stderr"
		exit 1
	}
	function median(kernel, c,  i, j, m, v, t) {
		m = count[kernel]
		for (i = 1; i <= m; i++) v[i] = value[kernel, i, c] + 0
		for (i = 2; i <= m; i++) for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
		return m % 2 ? v[(m + 1) / 2] : (v[m / 2] + v[m / 2 + 1]) / 2
	}
	/^"/ {
		sub(/\r$/, "")
		line = substr($0, 2, length($0) - 2)
		k = split(line, part, "\",\"")
		if (!n) { n = k; for (i = 1; i <= k; i++) head[i] = part[i]; next }
		if (part[1] == "") next # the line of units
		name = part[field("Kernel Name")]
		sub(/\(.*/, "", name)
		if (!(name in count)) order[++kernels] = name
		row = ++count[name]
		for (i = 1; i <= k; i++) { gsub(/,/, "", part[i]); value[name, row, i] = part[i] }
	}
	END {
		if (!kernels) { print "  no kernel was launched"; exit }
		for (i = 1; i <= kernels; i++) {
			name = order[i]
			printf "  %-34s %9.2f %9.2f /%9.2f MB %9.2f /%9.2f MB %6.1f %7.1f %5d %8.1f\n", name,
				median(name, field("gpu__time_duration.sum")) / 1e3,
				median(name, field("dram__bytes_read.sum")) / 1e6, read / 1e6,
				median(name, field("dram__bytes_write.sum")) / 1e6, written / 1e6,
				median(name, field("dram__throughput.avg.pct_of_peak_sustained_elapsed")),
				median(name, field("sm__warps_active.avg.pct_of_peak_sustained_active")),
				median(name, field("launch__registers_per_thread")),
				median(name, field("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"))
		}
	}' "$1"
}

if [ -z "$pattern" ] && [ ${#shapes[@]} = 0 ]; then pattern='^resample '; fi
"$program" bench ${shapes[@]+"${shapes[@]}"} --list --only "$pattern" >"$work/jobs"
printf '%-36s %9s %22s %25s %7s %7s %5s %8s\n' kernel us 'read/least' 'wrote/least' dram% warps% regs 'L1 sect'
while read -r suite name; do
	echo "$suite $name"
	exact=$(printf '%s %s' "$suite" "$name" | sed 's/[][().*+?^$|\\{}]/\\&/g')
	if ! "$ncu" --csv --page raw --print-units base --clock-control none --metrics "$metrics" --log-file "$work/csv" \
		"$program" bench ${shapes[@]+"${shapes[@]}"} --backend "$backend" --runs "$runs" --only "^$exact\$" >"$work/out" 2>"$work/err"; then
		cat "$work/err" "$work/out" >&2
		grep -a '^==ERROR==' "$work/csv" >&2 || true
		exit 1
	fi
	bytes=$(sed -nE 's/.*: [0-9]+ runs, ([0-9]+) bytes read, ([0-9]+) written.*/\1 \2/p' "$work/out")
	[ -n "$bytes" ] || die "robocache did not say its bytes: $(cat "$work/out")"
	counters "$work/csv" ${bytes% *} ${bytes#* }
done <"$work/jobs"

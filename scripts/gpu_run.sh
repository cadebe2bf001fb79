#!/usr/bin/env bash
# run.sh runs the test binaries of a bundle made by gpu_bundle.sh, on a GPU node. See usage below.
set -uo pipefail

usage() {
	cat <<'USAGE'
usage: run.sh [--sanitizer TOOL] [--bench] [--allow-no-gpu] [--timeout SECONDS] [PATTERN] [-- FLAGS]

Run the test binary of every package whose path matches PATTERN (an extended regular expression; all unless given), each
in its own folder, one after the other. A line tells how each package went, then come the skipped tests with their reasons
and the whole output of packages that failed. The exit code is 0 if all passed, 1 if one failed, 2 for a wrong command.

  --sanitizer TOOL   under compute-sanitizer: memcheck, racecheck, initcheck or synccheck. It watches the kernels of the
                     test process; the processes that some tests start to break a device on purpose are not watched
  --bench            run the benchmarks instead, and show their output
  --allow-no-gpu     let tests that need a GPU skip. Without it they fail where there is none
  --timeout SECONDS  the most that a package may take (default 300; 1800 under a sanitizer)
  FLAGS              for the test binaries: -test.run REGEXP, -test.count N and so on

Several runs may go on at once. ROBOCACHE_KERNELS and the project's other variables are handed on.
USAGE
}

die() {
	echo "run.sh: $*" >&2
	exit 2
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sanitizer= bench=no allow=no limit= pattern=
while [ $# -gt 0 ]; do
	case $1 in
	--sanitizer | --timeout)
		[ $# -gt 1 ] || die "$1 needs a value"
		if [ "$1" = --sanitizer ]; then sanitizer=$2; else limit=$2; fi
		shift
		;;
	--bench) bench=yes ;;
	--allow-no-gpu) allow=yes ;;
	-h | --help)
		usage
		exit
		;;
	--)
		shift
		break
		;;
	-*) die "no such option: $1" ;;
	*)
		[ -z "$pattern" ] || die "one pattern, not $pattern and $1; flags for the tests come after --"
		pattern=$1
		;;
	esac
	shift
done
flags=("$@")

case $sanitizer in
"" | memcheck | racecheck | initcheck | synccheck) ;;
*) die "--sanitizer is $sanitizer, and can be memcheck, racecheck, initcheck or synccheck" ;;
esac
watch=()
if [ -n "$sanitizer" ]; then
	tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
	[ -n "$tool" ] || die "no compute-sanitizer here, in PATH or under /usr/local/cuda"
	# Tests provoke errors of driver calls and check what comes back: the tool judges kernels, not return codes.
	watch=("$tool" --tool "$sanitizer" --error-exitcode 99 --target-processes application-only)
	[ "$sanitizer" = memcheck ] && watch+=(--report-api-errors no)
	export ROBOCACHE_SANITIZER=$sanitizer # tests may take smaller samples under it
fi
if [ -z "$limit" ]; then
	limit=300
	[ -z "$sanitizer" ] || limit=1800
fi
[[ $limit =~ ^[1-9][0-9]*$ ]] || die "--timeout is $limit, and must be whole seconds"
outer=$((limit + ${RUN_GRACE:-20})) # a test binary gets this much longer to say where it hangs
if [ $allow = yes ]; then
	unset ROBOCACHE_REQUIRE_GPU
else
	export ROBOCACHE_REQUIRE_GPU=1
fi

logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
cat "$root/bundle.txt"
if command -v nvidia-smi >/dev/null; then
	nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader || echo "nvidia-smi finds no GPU"
else
	echo "no nvidia-smi here"
fi
if [ -n "$sanitizer" ]; then
	"$tool" --version | sed -n '/[Vv]ersion/p'
fi

# tally prints what a log of -test.v holds: how many tests, subtests apart, passed, failed and were skipped.
tally() {
	awk '/^--- PASS/ { p++ } /^--- FAIL/ { f++ } /^ *--- SKIP/ { s++ }
		END { printf "%d passed, %d failed, %d skipped", p, f, s }' "$1"
}

# skipped prints the skipped tests of a log, grouped by the reason that each gave: its last line of output.
skipped() {
	awk -v dir="$2" '
		/^=== / { name = $3; next }
		/^ *--- SKIP: / {
			reason = ($3 in last) ? last[$3] : "no reason given"
			if (!(reason in tests)) order[++n] = reason
			count[reason]++
			tests[reason] = tests[reason] " " $3
			next
		}
		/^ *--- / { next }
		NF { line = $0; sub(/^ +([^ :]+:[0-9]+: )?/, "", line); last[name] = substr(line, 1, 160) }
		END {
			for (i = 1; i <= n; i++) printf "  %s, %d: %s\n   %s\n", dir, count[order[i]], order[i], tests[order[i]]
		}' "$1"
}

run=0 failed=()
while IFS= read -r dir; do
	[[ -z $pattern || $dir =~ $pattern ]] || continue
	run=$((run + 1))
	log=$logs/$run
	printf '%s\n' "$dir" >"$log.name"
	args=(-test.v -test.timeout "${limit}s")
	[ $bench = yes ] && args=(-test.run '^$' -test.bench . -test.benchmem -test.timeout "${limit}s")
	began=$(date +%s%N)
	(cd "$root/tests/$dir" && timeout -k 10 $outer ${watch[@]+"${watch[@]}"} \
		./package.test "${args[@]}" ${flags[@]+"${flags[@]}"}) >"$log" 2>&1 </dev/null
	code=$?
	idle=no
	# The tool itself fails where a process never calls the driver: then it is the tests' own result that counts.
	if [ -n "$sanitizer" ] && grep -aqs 'terminated before first instrumented API call' "$log"; then
		idle=yes
		[ $code = 255 ] && grep -aqs '^PASS' "$log" && code=0
	fi
	took=$((($(date +%s%N) - began) / 1000000))
	result=ok
	if [ $code != 0 ]; then
		result=FAIL
		failed+=("$run")
	fi
	note=$(tally "$log")
	[ $bench = yes ] && note="$(grep -c '^Benchmark.*ns/op' "$log") benchmarks"
	case $code in
	0 | 1) ;;
	99) note="$note, $sanitizer found errors" ;;
	124 | 137) note="$note, killed after $outer s" ;;
	*) note="$note, exit code $code" ;;
	esac
	if [ $idle = yes ]; then
		note="$note; it never calls the driver"
	elif [ -n "$sanitizer" ]; then
		note="$note; $(grep -a 'SUMMARY' "$log" | tail -n 1 | sed 's/^=* *//')"
	fi
	printf '%-4s %-24s %4d.%03d s  %s\n' "$result" "$dir" $((took / 1000)) $((took % 1000)) "$note"
	[ $bench = yes ] && [ $code = 0 ] && grep -aE '^(goos|goarch|cpu|Benchmark)' "$log"
done < <(cd "$root/tests" && find . -name package.test -printf '%h\n' | sed 's|^\./||' | sort)
[ $run -gt 0 ] || die "no package matches $pattern"

if [ $bench = no ] && grep -aqs -- '--- SKIP' "$logs"/*; then
	echo "skipped:"
	for ((i = 1; i <= run; i++)); do
		skipped "$logs/$i" "$(cat "$logs/$i.name")"
	done
fi
for i in ${failed[@]+"${failed[@]}"}; do
	printf '\n==== %s\n' "$(cat "$logs/$i.name")"
	# Tests that passed are not of interest here.
	grep -avE '^ *(=== (RUN|PAUSE|CONT|NAME)|--- PASS)' "$logs/$i"
done
if [ ${#failed[@]} -gt 0 ]; then
	echo "FAIL: ${#failed[@]} of $run packages"
	exit 1
fi
echo "ok: $run packages"

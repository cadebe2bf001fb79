#!/usr/bin/env bash
# figures.sh measures everything that bench/README.md has of a GPU, in one run. See usage below.
set -euo pipefail

usage() {
	cat <<'USAGE'
usage: figures.sh [--robocache PROGRAM] [--backend NAME] [--python PROGRAM] [--no-peers] [--sweep N] [--limit DURATION]
                  [--quick] DIR

Measure one after the other, and write to DIR, which must be missing or empty:

  ours.json        robocache bench resample forms fuse voxelize
  torch.json       the jobs of resample, fuse and voxelize in PyTorch, if PYTHON has it; --no-peers leaves it out
  dependent.json   resample, forms and fuse, launched dependent
  ready.json       and with inputs declared ready
  launch.json      robocache bench launch
  first.json       from the start of the program to the first result
  sweep.json       N random shapes of all suites (default 300)
  scaling.md       if there are several GPUs: batches and training on one, two, four and eight of them, PyTorch's beside
  figures.md       all of them as tables, ours and PyTorch's side by side, and the worst ratios of the sweep

  --robocache PROGRAM  default: robocache beside this script, else in PATH
  --backend NAME       default: cuda
  --python PROGRAM     default: python3
  --limit DURATION     the sweep ends after that long, with what it measured: 90s, for example
  --quick              fewer and shorter samples, of PyTorch too: some three minutes, half of them the sweep's

What was measured stays if a later step fails, which is told, and makes the exit code 1. So it does after an interrupt or SIGTERM, which end the
step at hand, leave out the others, and still write figures.md. Nothing else should run meanwhile.
USAGE
}

die() {
	echo "figures: $*" >&2
	exit 2
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
robocache=$here/robocache
[ -x "$robocache" ] || robocache=robocache
python=python3 backend=cuda peers=yes sweep=300 dir=
limit=() torch_samples=() full=() small=(--time 10ms --batch 2ms --samples 5)
while [ $# -gt 0 ]; do
	case $1 in
	--robocache | --backend | --python | --sweep)
		[ $# -gt 1 ] || die "$1 needs a value"
		declare "${1#--}=$2"
		shift
		;;
	--no-peers) peers=no ;;
	--limit)
		[ $# -gt 1 ] || die "--limit needs a duration, such as 90s"
		limit=(--limit "$2")
		shift
		;;
	--quick) full=(--time 20ms --batch 3ms --samples 9) torch_samples=(--batch 0.003 --samples 9) ;;
	-h | --help)
		usage
		exit
		;;
	-*) die "no such option: $1" ;;
	*)
		[ -z "$dir" ] || die "one folder, not $dir and $1"
		dir=$1
		;;
	esac
	shift
done
[ -n "$dir" ] || die "which folder? figures.sh --help tells more"
[[ $sweep =~ ^[0-9]+$ ]] || die "--sweep is $sweep, and must be a number"
command -v "$robocache" >/dev/null || die "no $robocache here: --robocache says where it is"
mkdir -p "$dir"
[ -z "$(ls -A "$dir")" ] || die "$dir is not empty"
torch=$here/peers/torch_peer.py
[ -e "$torch" ] || torch=$here/../bench/peers/torch_peer.py

failed=0 stopped=no pid=
# stop ends the step at hand: robocache then writes what it has measured.
stop() {
	stopped=yes failed=1
	[ -z "$pid" ] || pkill -TERM -P "$pid" || kill -TERM "$pid" 2>/dev/null || true
}
trap stop INT TERM

# step NAME COMMAND: the command's output becomes NAME.json, or NAME if that is a file's, nothing if it fails and leaves no figures.
step() {
	local name=${1%.md} file=$1 began=$SECONDS code=0
	[ "$file" != "$name" ] || file=$name.json
	shift
	[ $stopped = no ] || return 0
	"$@" >"$dir/$name.part" 2>"$dir/$name.log" &
	pid=$!
	wait $pid || code=$?
	while kill -0 $pid 2>/dev/null; do # a signal ends the wait, not the step
		code=0
		wait $pid || code=$?
	done
	pid=
	if [ $code = 0 ] || { [ $stopped = yes ] && "$robocache" bench --from "$dir/$name.part" --markdown >/dev/null 2>&1; }; then
		mv "$dir/$name.part" "$dir/$file"
		[ -s "$dir/$name.log" ] || rm "$dir/$name.log"
		echo "figures: $file, $((SECONDS - began)) s" >&2
	else
		echo "figures: $name failed: $(tail -n 1 "$dir/$name.log")" >&2
		rm -f "$dir/$name.part"
		failed=1
	fi
}

bench() { "$robocache" bench --backend "$backend" "$@" --json; }
in_torch() { bench resample fuse voxelize --list | "$python" "$torch" ${torch_samples[@]+"${torch_samples[@]}"}; }

step ours bench resample forms fuse voxelize "${full[@]}"
if [ $peers = yes ]; then
	if "$python" -c 'import torch' 2>/dev/null; then
		step torch in_torch
	else
		echo "figures: $python has no torch: PyTorch is left out" >&2
	fi
fi
for mode in dependent ready; do
	step $mode bench resample forms fuse --launch $mode "${small[@]}"
done
step launch bench launch "${full[@]}"
step first bench --first
[ "$sweep" = 0 ] || step sweep bench --sweep "$sweep" --seed 11 ${limit[@]+"${limit[@]}"} "${small[@]}"

if [ "$("$robocache" info --json 2>/dev/null | grep -c '"backend": "cuda"')" -gt 1 ]; then # else it is the one, or why there is none
	of=$here/tests
	[ -d "$of" ] || of=$here/..
	scaling=("$(dirname "$torch")/scaling.py" --robocache "$robocache" "$of/examples/data/g1")
	[ ! -x "$of/loader/package.test" ] || scaling+=(--tests "$of")
	[ $peers = yes ] || scaling+=(--no-peers)
	[ ${#full[@]} = 0 ] || scaling+=(--eager --benchtime 300x)
	step scaling.md "$python" "${scaling[@]}"
fi

for name in ours dependent ready launch sweep; do
	[ -e "$dir/$name.json" ] || continue
	more=()
	if [ $name = ours ] && [ -e "$dir/torch.json" ]; then more=(--compare "$dir/torch.json"); fi
	if [ $name = sweep ]; then more=(--worst 20); fi
	printf '## %s\n\n' $name
	"$robocache" bench --from "$dir/$name.json" "${more[@]}" --markdown
	echo
done >"$dir/figures.md" || failed=1
echo "figures: $dir/figures.md" >&2
exit $failed

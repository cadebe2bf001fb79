#!/usr/bin/env bash
# gpu_bundle.sh packs the command line and the test binaries for a GPU node without Go. See usage below.
set -euo pipefail

usage() {
	cat <<'USAGE'
usage: scripts/gpu_bundle.sh [--arch amd64|arm64] [--gpu-only] [--tar] [DIR]

Build robocache and the test binary of every package for Linux, without cgo, and lay them out in DIR (build/gpu unless
given), which must be empty, missing or an older bundle:

  DIR/robocache       the command line; robocache bench measures
  DIR/peers           what it is compared with, in Python
  DIR/profile.sh      runs the profiler over the jobs of robocache bench
  DIR/figures.sh      measures all that bench/README.md has of a GPU, in one run
  DIR/run.sh          runs the tests: copy DIR to the GPU node and start it there; --help tells the rest
  DIR/tests           the repository's files, with a test binary in each package's folder

  --arch ARCH  the node's processor: amd64 (default) or arm64
  --gpu-only   leave out the packages whose tests never reach the driver
  --tar        write DIR.tar.gz as well, less than half as large

The tests at the root of the repository and of scripts run Go, and are left out. The node needs glibc and NVIDIA's driver.
USAGE
}

die() {
	echo "gpu_bundle: $*" >&2
	exit 2
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
arch=amd64
gpu_only=no
tar=no
out=

while [ $# -gt 0 ]; do
	case $1 in
	--arch)
		[ $# -gt 1 ] || die "--arch needs amd64 or arm64"
		arch=$2
		shift
		;;
	--gpu-only) gpu_only=yes ;;
	--tar) tar=yes ;;
	-h | --help)
		usage
		exit
		;;
	-*) die "no such option: $1" ;;
	*)
		[ -z "$out" ] || die "one folder, not $out and $1"
		out=$1
		;;
	esac
	shift
done
case $arch in amd64 | arm64) ;; *) die "--arch is $arch, and can be amd64 or arm64" ;; esac
out=${out:-$root/build/gpu}
if [ -d "$out" ] && [ -n "$(ls -A "$out")" ] && [ ! -e "$out/bundle.txt" ]; then
	die "$out is neither empty nor an older bundle"
fi
rm -rf "$out" "$out.tar.gz"
mkdir -p "$out/tests"
out=$(cd "$out" && pwd)
cd "$root"

export CGO_ENABLED=0 GOOS=linux GOARCH=$arch
flags=(-trimpath -ldflags "-s -w")
module=$(go list -m)

# tested prints the folder of each package that has tests, and whether they reach the driver: its binary holds cudadrv.
tested() {
	go list -test -f '{{if .ForTest}}{{else}}{{.ImportPath}} {{join .Deps " "}} {{end}}' ./... |
		awk -v m="$module" '$1 ~ /\.test$/ {
			dir = substr($1, length(m) + 2); sub(/\.test$/, "", dir)
			if (index($1, m "/") == 1 && index(dir, "scripts/") != 1) print dir, (index($0 " ", " " m "/cudadrv ") ? "gpu" : "cpu")
		}'
}

{
	echo "$module for linux/$arch, $(go env GOVERSION)"
	echo "commit $(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)$([ -z "$(git status --porcelain 2>/dev/null)" ] || echo ", changed")"
} >"$out/bundle.txt"

go build "${flags[@]}" -o "$out/robocache" ./cmd/robocache
mkdir "$out/peers"
cp bench/peers/*.py "$out/peers/"
cp scripts/profile.sh "$out/profile.sh"
cp scripts/figures.sh "$out/figures.sh"
count=0
left=()
while read -r dir kind; do
	if [ $gpu_only = yes ] && [ "$kind" = cpu ]; then
		left+=("$dir")
		continue
	fi
	mkdir -p "$out/tests/$dir"
	go test -c "${flags[@]}" -o "$out/tests/$dir/package.test" "./$dir"
	count=$((count + 1))
	printf '%6s  %s\n' "$(du -sh "$out/tests/$dir/package.test" | cut -f 1)" "$dir"
done < <(tested)
[ $count -gt 0 ] || die "no package with tests"
# Tests read files of their own folder and of others': testdata, pictures, sources.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
	if [ -f "$file" ]; then
		mkdir -p "$out/tests/$(dirname "$file")"
		cp "$file" "$out/tests/$file"
	fi
done
cp scripts/gpu_run.sh "$out/run.sh"
chmod +x "$out/run.sh"
if [ ${#left[@]} -gt 0 ]; then
	echo "left out, as their tests never reach the driver: ${left[*]}" | tee -a "$out/bundle.txt"
fi
echo "$count packages, $(du -sm "$out" | cut -f 1) MB in $out"
if [ $tar = yes ]; then
	tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")"
	echo "$(du -sm "$out.tar.gz" | cut -f 1) MB in $out.tar.gz"
fi

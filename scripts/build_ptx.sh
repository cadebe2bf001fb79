#!/usr/bin/env bash
# build_ptx.sh builds the kernels of ptx/ and the manifest that describes them. See usage below.
set -euo pipefail

usage() {
	cat <<'USAGE'
usage: scripts/build_ptx.sh [--check]
       scripts/build_ptx.sh --cubin DIR
       scripts/build_ptx.sh --adopt DIR
       scripts/build_ptx.sh --nvcc

With no option, compile every ptx/NAME.cu to NAME.sm_90.ptx.gz and NAME.sm_80.ptx.gz (PTX, compressed by gzip), assemble
both with ptxas and make NAME.sm_90.cubin where there is a ptxas, and write ptx/zmanifest.go,
ptx/zinterface.go, and the table of sizes in CONTRIBUTING.md if it is far off.

  --check      build into a temporary folder and compare with what is checked in, the text of the PTX byte for byte, then the
               manifest.
               Changes nothing; fails naming each file that differs.
  --cubin DIR  assemble the PTX that is checked in, warnings and spills being errors, and write NAME.sm_90.cubin and
               NAME.sm_90.cubin.sha256 into DIR. Needs ptxas, neither clang nor Go.
  --adopt DIR  take such cubins into ptx/, the smaller ones compressed as NAME.sm_90.cubin.gz, refusing one that was made from other
               PTX, and write the manifest.
  --nvcc       compile every source with nvcc as well, for sm_80 and sm_90, and throw the result away.

A NAME.sm_90.cubin.sha256 says which PTX the cubin was made from, in the form that sha256sum -c reads, and by which
release of ptxas. The PTX must come from clang 19.1.7 (Debian's clang-19); CLANG names another path to it, PTXAS and
NVCC to those tools.
USAGE
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
src=$root/ptx
want_clang=19.1.7
clang=${CLANG:-clang++-19}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

die() {
	echo "build_ptx: $*" >&2
	exit 1
}

# find_tool prints the path of a tool, or nothing: its variable, the PATH, then the toolkit's usual place.
find_tool() {
	local name=$1 given=$2
	if [ -n "$given" ]; then
		command -v "$given" || true
	else
		command -v "$name" || { [ -x "/usr/local/cuda/bin/$name" ] && echo "/usr/local/cuda/bin/$name"; } || true
	fi
}
ptxas=$(find_tool ptxas "${PTXAS:-}")
nvcc=$(find_tool nvcc "${NVCC:-}")

# families prints the name of every kernel source.
families() {
	local f
	for f in "$src"/*.cu; do
		[ -e "$f" ] || die "no .cu file in $src"
		basename "$f" .cu
	done
}

# unpack_all DIR writes every PTX that is checked in to DIR, as text.
unpack_all() {
	local f
	for f in "$src"/*.ptx.gz; do
		[ -e "$f" ] || die "no .ptx.gz file in $src"
		gzip -dc "$f" >"$1/$(basename "$f" .gz)"
	done
}

# store FILE NAME WHAT puts a file into ptx/ as NAME, or, if WHAT is packed, compressed as NAME.gz. One whose data is there already is
# left as it is: how gzip packs it may differ from one release of gzip to the next, and does not count.
store() {
	local to=$src/$2
	if [ "$3" = packed ]; then
		to=$to.gz
		if ! { [ -e "$to" ] && gzip -dc "$to" 2>/dev/null | cmp -s - "$1"; }; then
			gzip -9n <"$1" >"$scratch/packed"
			install -m 644 "$scratch/packed" "$to"
		fi
	elif ! cmp -s "$1" "$to"; then
		install -m 644 "$1" "$to"
	fi
}

# store_ptx DIR puts the PTX texts of DIR into ptx/.
store_ptx() {
	local f
	for f in "$1"/*.ptx; do
		store "$f" "$(basename "$f")" packed
	done
}

# store_cubins DIR puts the cubins of DIR with their sidecars into ptx/, each in the form for its size.
store_cubins() {
	local f name most
	most=$(sed -n 's/^const mostPacked = \([0-9]*\)$/\1/p' "$src/internal/manifest/folder.go")
	[ -n "$most" ] || die "internal/manifest says no more which cubins lie compressed"
	for f in "$1"/*.sm_90.cubin; do
		name=$(basename "$f")
		if [ "$(wc -c <"$f")" -le "$most" ]; then
			store "$f" "$name" packed
			rm -f "$src/$name"
		else
			store "$f" "$name" plain
			rm -f "$src/$name.gz"
		fi
		store "$f.sha256" "$name.sha256" plain
	done
}

need_clang() {
	command -v "$clang" >/dev/null || die "$clang is not installed; the PTX is built with Debian's clang-19 ($want_clang)"
	local found
	found=$("$clang" --version | sed -n 's/.*clang version \([0-9.]*\).*/\1/p' | head -n 1)
	[ "$found" = "$want_clang" ] || die "$clang is version ${found:-unknown}; the checked-in PTX needs $want_clang, byte for byte"
}

# compile NAME OUTDIR makes both PTX images at once. The compiler runs in the source folder with relative names and is
# kept from any CUDA installation, so that the output depends on the sources alone.
compile() {
	local name=$1 out=$2 arch pids=() pid
	for arch in sm_90:+ptx78 sm_80:+ptx74; do
		(cd "$src" && exec "$clang" -x cuda --cuda-device-only "--cuda-gpu-arch=${arch%:*}" "--cuda-feature=${arch#*:}" \
			-nocudainc -nocudalib --cuda-path=/nonexistent \
			-ffp-contract=off -O3 -std=c++17 -Wall -Wextra -Werror -S -o "$out/$name.${arch%:*}.ptx" "$name.cu") &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || die "$name.cu does not compile"
	done
}

# assemble PTX SM OUT runs ptxas; warnings and spills are errors, the resource lines are printed.
assemble() {
	local ptx=$1 sm=$2 out=$3 log
	log=$("$ptxas" -O3 "-arch=$sm" -v --warn-on-spills --warning-as-error -o "$out" "$ptx" 2>&1) ||
		die "ptxas refuses $ptx for $sm:
$log"
	if grep -E '[1-9][0-9]* bytes spill' <<<"$log" >/dev/null; then
		die "$ptx spills registers on $sm:
$log"
	fi
	echo "$ptx:"
	sed -n "s/^ptxas info *: *\(Compiling entry\|Used\)/  \1/p" <<<"$log"
}

# assemble_all PTXDIR OUTDIR assembles every image, as many at once as there are processors, and leaves the sm_90 cubins
# with their sidecars in OUTDIR, nothing unless all went well. It works in PTXDIR with plain names, so that no path gets
# into a cubin.
assemble_all() {
	local dir=$1 out=$2 release tmp name sm failed=0
	release=$("$ptxas" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
	tmp=$(mktemp -d -p "$scratch")
	for name in $(families); do
		for sm in sm_80 sm_90; do
			[ -e "$dir/$name.$sm.ptx" ] || die "$name.$sm.ptx is not there; build it first"
			while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
				wait -n || true
			done
			: >"$tmp/$name.$sm.failed"
			(cd "$dir" && assemble "$name.$sm.ptx" $sm "$tmp/$name.$sm.cubin" >"$tmp/$name.$sm.log" 2>&1 &&
				rm "$tmp/$name.$sm.failed") &
		done
	done
	wait
	for name in "$tmp"/*.failed; do
		[ ! -e "$name" ] || failed=1
	done
	cat "$tmp"/*.log
	[ $failed = 0 ] || die "not every image assembles"
	for name in $(families); do
		install -m 644 "$tmp/$name.sm_90.cubin" "$out/"
		(cd "$dir" && sha256sum "$name.sm_90.ptx" && echo "# ptxas $release") >"$out/$name.sm_90.cubin.sha256"
	done
}

# warn_stale says which cubins are not loaded since their PTX is another: in one line, however many there are.
warn_stale() {
	local side texts stale=()
	texts=$(mktemp -d -p "$scratch")
	unpack_all "$texts"
	for side in "$src"/*.cubin.sha256; do
		[ -e "$side" ] || continue
		(cd "$texts" && sha256sum --status -c "$side" >/dev/null 2>&1) || stale+=("$(basename "$side" .sm_90.cubin.sha256)")
	done
	[ ${#stale[@]} = 0 ] ||
		echo "build_ptx: the machine code of these families came from other PTX and is not loaded: ${stale[*]}. All tests run without it; scripts/release_check.sh fails until it is made anew with --cubin and --adopt" >&2
}

# manifest [-check] writes what is made of the kernels for the host, or compares it.
manifest() {
	command -v go >/dev/null || die "the manifest is written by a Go program, and there is no go here"
	(cd "$root" && go run ./ptx/internal/manifest -dir ptx "$@" && go run ./ptx/internal/manifest -dir ptx -sizes CONTRIBUTING.md "$@")
}

# build replaces nothing before everything has compiled.
build() {
	need_clang
	local tmp name
	tmp=$(mktemp -d -p "$scratch")
	for name in $(families); do
		compile "$name" "$tmp"
	done
	store_ptx "$tmp"
	if [ -n "$ptxas" ]; then
		mkdir "$tmp/cubin"
		assemble_all "$tmp" "$tmp/cubin"
		store_cubins "$tmp/cubin"
	else
		echo "build_ptx: no ptxas here: nothing was assembled"
	fi
	warn_stale
	manifest
}

check() {
	need_clang
	local tmp texts name sm file bad=0
	tmp=$(mktemp -d -p "$scratch")
	texts=$(mktemp -d -p "$scratch")
	unpack_all "$texts"
	for name in $(families); do
		compile "$name" "$tmp"
		for sm in sm_80 sm_90; do
			file=$name.$sm.ptx
			if ! cmp "$tmp/$file" "$texts/$file"; then
				echo "build_ptx: ptx/$file is not what its sources give" >&2
				bad=1
			fi
		done
	done
	for file in "$texts"/*.ptx; do
		if [ ! -e "$tmp/$(basename "$file")" ]; then
			echo "build_ptx: ptx/$(basename "$file").gz has no source" >&2
			bad=1
		fi
	done
	manifest -check || bad=1
	[ $bad = 0 ] || exit 1
	if [ -n "$ptxas" ]; then
		mkdir "$tmp/cubin"
		assemble_all "$tmp" "$tmp/cubin"
	fi
	echo "build_ptx: the PTX and the manifest are what the sources give"
}

adopt() {
	local dir=$1 texts cubin name found=0
	dir=$(cd "$dir" && pwd)
	texts=$(mktemp -d -p "$scratch")
	unpack_all "$texts"
	for cubin in "$dir"/*.sm_90.cubin; do
		[ -e "$cubin" ] || die "no .sm_90.cubin in $dir"
		name=$(basename "$cubin")
		[ -e "$src/${name%.sm_90.cubin}.cu" ] || die "$name has no source in ptx/"
		[ -e "$cubin.sha256" ] || die "$name has no $name.sha256"
		(cd "$texts" && sha256sum --status -c "$cubin.sha256") ||
			die "$name was made from other PTX than ptx/${name%.cubin}.ptx"
		found=$((found + 1))
	done
	store_cubins "$dir"
	manifest
	echo "build_ptx: took $found cubins from $dir"
}

check_nvcc() {
	[ -n "$nvcc" ] || die "no nvcc here; set NVCC"
	local tmp name arch
	tmp=$(mktemp -d -p "$scratch")
	for name in $(families); do
		for arch in sm_80 sm_90; do
			"$nvcc" -arch=$arch -fmad=false -O3 -std=c++17 -Werror all-warnings -cubin -o "$tmp/out.cubin" "$src/$name.cu" ||
				die "nvcc refuses $name.cu for $arch"
			echo "nvcc: $name.cu compiles for $arch"
		done
	done
}

case ${1:-} in
"") build ;;
--check) check ;;
--cubin)
	[ $# = 2 ] || die "--cubin needs a folder"
	[ -n "$ptxas" ] || die "no ptxas here; set PTXAS"
	mkdir -p "$2" "$scratch/texts"
	unpack_all "$scratch/texts"
	assemble_all "$scratch/texts" "$(cd "$2" && pwd)"
	;;
--adopt)
	[ $# = 2 ] || die "--adopt needs a folder"
	[ -d "$2" ] || die "$2 is no folder"
	adopt "$2"
	;;
--nvcc) check_nvcc ;;
-h | --help) usage ;;
*)
	usage >&2
	exit 2
	;;
esac

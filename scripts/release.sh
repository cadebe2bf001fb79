#!/usr/bin/env bash
# release.sh builds everything that is published of a version. See usage below.
set -euo pipefail

usage() {
	cat <<'USAGE'
usage: scripts/release.sh [-o DIR] [VERSION]

Build a release from a clean clone of the commit that is checked out, and write it into DIR (build/release unless given),
which may not be there yet:

  robocache-SYSTEM-PROCESSOR.tar.gz   the command line for Linux, macOS and Windows, with its licences
  robocache-VERSION-py3-none-*.whl    the Python wheels for Linux
  robocache.cdx.json                  what the binaries are made of, in CycloneDX 1.6
  Containerfile                       an image of the binary
  LICENSE, THIRD_PARTY_LICENSES, SHA256SUMS

VERSION is as v0.5.0 or v0.5.0-rc.1. Unless given it is that of git's tag, and a development version where there is none. The same
commit, VERSION and Go release give the same bytes. Kernels whose machine code is missing or stale are an error: scripts/release_check.sh.
USAGE
}

die() {
	echo "release: $*" >&2
	exit 2
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=build/release
version=
while [ $# -gt 0 ]; do
	case $1 in
	-o)
		[ $# -gt 1 ] || die "-o needs a folder"
		out=$2
		shift
		;;
	-h | --help)
		usage
		exit
		;;
	-*) die "no such option: $1" ;;
	*)
		[ -z "$version" ] || die "one version, not $version and $1"
		version=$1
		;;
	esac
	shift
done
[ ! -e "$out" ] || die "$out is there already"
[ -z "$(git status --porcelain)" ] || die "files were changed: a release is made of what is committed"
tag=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null || true)
[ -z "$version" ] || [ -z "$tag" ] || [ "v${version#v}" = "$tag" ] || die "the commit has the tag $tag, and $version was asked for"

mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
commit=$(git rev-parse HEAD)
git clone --quiet --no-checkout . "$clone/robocache"
cd "$clone/robocache"
git checkout --quiet --detach "$commit"
scripts/release_check.sh
go run ./scripts/release -o "$out" ${version:+-version "$version"}

#!/usr/bin/env bash
# release_check.sh fails if a kernel family has no machine code, or has some that was made from other PTX than is shipped with it. Tests
# pass with those: kernels can be worked on where there is no ptxas. A release has them all: where they fit, nothing is compiled first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! go run ./ptx/internal/manifest -dir ptx -check || ! go run ./ptx/internal/manifest -dir ptx -release; then
	echo "release_check: not ready for a release. scripts/build_ptx.sh --cubin DIR makes cubins where there is a ptxas, --adopt DIR takes them" >&2
	exit 1
fi
echo "release_check: every family has the cubin of its PTX"

#!/bin/bash -eu
# build.sh compiles each fuzz target of the tree for libFuzzer, as OSS-Fuzz and ClusterFuzzLite call it, and packs seeds: the package's test data
# below 64 KiB. "build.sh --list" only prints the targets: folder, function and name of the program.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets() {
	git grep -o --untracked -E '^func Fuzz[A-Za-z0-9_]*\(f \*testing\.F\)' -- '*_test.go' | sed -E 's/\(f .*//; s/:func /:/' | while IFS=: read -r file target; do
		dir=$(dirname "$file")
		echo "$dir $target ${dir//\//_}_$target"
	done
}

if [ "${1:-}" = --list ]; then
	targets
	exit
fi
targets | while read -r dir target name; do
	compile_native_go_fuzzer_v2 "github.com/robocache/robocache/$dir" "$target" "$name"
	if [ -d "$dir/testdata" ]; then
		find "$dir/testdata" -type f -size -64k -not -path '*/testdata/fuzz/*' | zip -q -j -@ "$OUT/${name}_seed_corpus.zip" || true # two of one name: the first stays
	fi
done

#!/usr/bin/env bash
# times.sh passes on what go test prints, and then prints the seconds of each package that took more than half a second, the slowest first, and of all.
# They are by the wall, and packages share the cores. A result from Go's cache has no time.
#
#     go test ./... | scripts/times.sh
exec awk '
	{ print; fflush() }
	($1 == "ok" || $1 == "FAIL") && $3 ~ /^[0-9.]+s$/ {
		seconds = $3 + 0
		all += seconds
		if (seconds > 0.5) {
			line[seconds, $2] = sprintf("%8.1f  %s", seconds, $2)
		} else {
			short += seconds
		}
	}
	END {
		printf "\n seconds  package\n"
		sorted = "sort -rn"
		for (k in line) print line[k] | sorted
		close(sorted)
		printf "%8.1f  others\n%8.1f  together\n", short, all
	}'

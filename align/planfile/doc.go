// Package planfile reads and writes plans as YAML files, of version 1. A mistake in a file is an *align.PlanError with its line and column.
// docs/plans.md lists the keys.
package planfile

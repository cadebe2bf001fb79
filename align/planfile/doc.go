// Package planfile reads and writes plans as YAML files, version 1. docs/plans.md lists the keys.
//
//	plan, err := planfile.Read("plan.yaml")
//	got, err := align.Resample(ctx, device, episode, plan)
//
// A mistake in a file is an *align.PlanError with its line and column.
package planfile

// Package suggest makes a first plan for a dataset from its recordings: the clock's rate, the streams, the interpolation methods
// for their columns, and gap limits. For a dataset with states and actions, it adds a policy's windows and normalisation.
// docs/plans.md lists the rules.
//
//	s, err := suggest.Plan(ctx, d, suggest.Options{})
//	os.WriteFile("plan.yaml", s.Text, 0o666) // or use s.Plan directly
package suggest

// Package suggest makes a first plan for a dataset from its recordings: the rate of the clock, the streams, the kinds of their columns, gaps, and for a
// dataset of states and actions the windows and the normalisation of a policy. docs/plans.md says what it recognises.
package suggest

// Package tuned keeps launch shapes that were measured on a kind of GPU: a policy for a key of jobs. It knows the form of a table; what a
// kernel takes of a policy the CUDA backend knows, which decides when it makes a plan.
package tuned

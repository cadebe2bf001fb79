// Package tuned keeps launch shapes that were measured on a kind of GPU: a choice for a class of jobs. It knows the form of a table; what a
// kernel takes of a choice the CUDA backend knows, which decides when it makes a plan.
package tuned

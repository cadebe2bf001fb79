// Package report holds what a simulated device reports: each launch that ended, with its counters, the fault of one that did not, and what
// was left open. It has a folder of its own because the interpreter fills these types and the users of package cudasim, which has a name
// for each, read their fields. Sizes and addresses are bytes.
package report

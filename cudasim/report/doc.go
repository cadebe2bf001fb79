// Package report has the types for a simulated device's reports: launches with their counters, faults, and open
// objects. It is a separate package because the interpreter fills these types, and programs that use package cudasim,
// which has an alias for each, read their fields. Sizes and addresses are bytes.
package report

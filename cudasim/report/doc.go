// Package report has the types of a simulated device's reports: launches with their counters, faults, and open objects.
// It is a package of its own because the interpreter fills these types, and the users of package cudasim, which has an alias
// for each, read their fields. Sizes and addresses are bytes.
package report

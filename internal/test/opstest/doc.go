// Package opstest holds the tests that every backend of package ops must pass.
//
// [Run] takes an open device and runs everything as subtests: the named cases, generated ones, misuse, streams and
// graphs, goldens made by numpy, scipy, pandas and torch. Expected values come from a deliberately naive implementation
// in this package that shares no code with package ops. Each case runs in the convenient form on host tensors and as
// a plan on device tensors, where every output is a view inside a larger buffer of poison: an element that is not
// written shows, and so does a write outside.
//
// On a device that is not the CPU, every output also has the bits that the CPU device gives. A NaN that arithmetic made
// equals any NaN; a copied value keeps its bits.
//
// Run blocks until the tests are done and leaves the device open. It is not safe to run two at once with one device.
package opstest

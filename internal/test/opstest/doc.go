// Package opstest holds the tests that every backend of package ops must pass.
//
// [Run] takes an open device and runs everything as subtests: groups of cases for each operation, made by hand, generated,
// and golden ones by numpy, scipy, pandas and torch, and the lives of plans, queues and graphs. [Misuse] is about invalid
// arguments, which package ops refuses whatever the backend.
//
// A case implements one interface, operation, and one engine runs it. Expected values come from a deliberately naive
// implementation in this package that shares no code with package ops. Each case runs in the convenient form on host
// tensors and as a plan on device tensors, in every launch mode. Every output of a plan is a view inside a larger buffer of
// poison: an element that is not written shows, and so does a write outside.
//
// On a device that is not the CPU, every output also has the bits that the CPU device gives. A NaN that arithmetic made
// equals any NaN; a copied value keeps its bits.
//
// The long set has all cases. A real GPU runs it, and every device does if ROBOCACHE_LONG=1 is set. The default set has the
// cases made by hand that bring a new property to their part, such as a dtype, a size or a kind, and the first of the
// generated ones: fewer on a simulated device, where each launch takes milliseconds.
//
// Run blocks until the tests are done and leaves the device open. It is not safe to run two at once with one device.
package opstest

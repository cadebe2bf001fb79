// Package nvdectest is a libnvcuvid in Go on a simulated device, for tests. It reads and writes the structures by the offsets in
// cuviddec.h, checks each argument, and decodes each picture to a pattern that depends on its slices.
package nvdectest

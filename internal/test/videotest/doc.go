// Package videotest has video streams for tests, with the picture parameters that NVIDIA's own parser made from them on an H200.
package videotest

// Package release makes what is published of robocache: the binaries, the Python wheels that carry them, the licences of what is linked in, a bill of
// materials and checksums.
//
// The same source, version and Go release give the same bytes, in whichever folder and at whatever time: times in archives are fixed, entries are
// sorted, and the binary knows neither its folder nor git.
package release

// Package release builds the published files of robocache: binaries, Python wheels with these binaries, licences of linked modules, a
// bill of materials and checksums.
//
// The same source, version and Go release give the same bytes, in any folder and at any time: archives have fixed times and sorted
// entries, and the binary contains neither its folder nor git data.
package release

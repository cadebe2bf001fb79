// Command manifest writes zmanifest.go of package ptx: what every kernel image is, what it was made from, and the
// parameters of every entry; and zinterface.go: what the sources declare for the host by RC_HOST and RC_FLAG, see common.cuh.
// It reads the images and sources in a folder, and refuses a folder whose files do not belong together.
// scripts/build_ptx.sh runs it. With -release it refuses a folder that lacks a cubin or has a stale one; with -sizes FILE it
// keeps the table of what each family adds to a program.
package main

// Command manifest writes two files for package ptx. zmanifest.go describes every kernel image, its sources, and the parameters of
// every entry. zinterface.go has the declarations marked RC_HOST and RC_FLAG in the sources (see common.cuh). The command reads the
// images and sources in a folder, and fails if they do not match. scripts/build_ptx.sh runs it. With -release it fails if a cubin is
// missing or stale. With -sizes FILE it updates the table of bytes that each family adds to a program.
package main

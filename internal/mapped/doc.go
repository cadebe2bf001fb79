// Package mapped maps files into memory, so that the system reads only the parts that are used.
//
// If a file becomes shorter while it is mapped, reading the missing part is a fault, which would end the program. So a program reads a
// [File] inside [File.Guard], which converts the fault to an error, and delays Close until the reading is done.
package mapped

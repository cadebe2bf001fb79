// Package program compiles PTX to the micro-operations of package exec. [Load] parses a module, places its variables in memory
// and compiles its entries: calls are replaced by copies of the functions, each instruction is compiled by the handler of its
// first word, and the virtual registers are put into few slots of a warp. An instruction or a qualifier that is not known is an
// [UnsupportedError] when the module is loaded; none is passed over.
//
// Arithmetic gives the bits that PTX defines or, where PTX gives a bound, stays within it.
package program

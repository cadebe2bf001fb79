// Package program compiles PTX to the micro-operations of package exec. [Load] parses a module, places its variables in memory
// and compiles its entries. Calls are replaced by copies of the functions. The handler of an instruction's first word compiles
// it, and the virtual registers share the few slots of a warp. If an instruction or a qualifier is unknown, Load returns an
// [UnsupportedError]; none is ignored.
//
// Arithmetic returns the bits that PTX defines. If PTX only gives a bound, the result stays within it.
package program

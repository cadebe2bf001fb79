// Package pickle reads Python pickles with plain data and numpy arrays, protocols 2 to 5, and runs no code.
//
// A pickle is a program for a machine that may call any Python function. This machine knows only the functions for numpy arrays and
// refuses every other by name: an array, its type and its scalars (numpy's _reconstruct, _frombuffer, ndarray, dtype, scalar), and
// bytes in protocol 2 (_codecs.encode and bytes). It also refuses the opcodes for objects, persistent names and sets, and the
// protocols 0 and 1.
//
// It allocates nothing for a size that the pickle only declares. Memory is proportional to the pickle's length, because an object
// that is referenced several times exists once. No function here is recursive, so neither deep nesting nor objects that contain
// themselves are a danger. Callers that walk the result of Load must take care of that, too.
package pickle

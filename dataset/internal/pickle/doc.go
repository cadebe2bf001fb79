// Package pickle reads Python pickles of plain data and of numpy arrays, protocols 2 to 5, and runs nothing.
//
// A pickle is a program for a machine that may call any function of Python. This one knows a list of functions, those that write numpy's arrays, and
// refuses every other by name: an array, its type and its scalars (numpy's _reconstruct, _frombuffer, ndarray, dtype, scalar), and bytes as protocol 2
// has them (_codecs.encode and bytes). Opcodes of objects, persistent names, sets and protocols 0 and 1 are refused, too.
//
// Nothing is allocated for a size that the pickle only declares; what there is takes memory in proportion to the pickle's length, and objects that are
// named many times are there once. No function here is recursive, so nothing that lies deep in something else is a danger, nor what holds itself. Who
// walks what Load returns has to see to that, too.
package pickle

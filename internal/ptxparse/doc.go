// Package ptxparse parses PTX: all variables, entries and functions of a module, with names resolved to registers, variables and
// labels. It knows the grammar but not the instructions: an opcode is a word, and the caller checks its operands. Sizes and
// alignments are bytes. Errors are *SyntaxError, with the line and the reason. The result shares strings with the text.
package ptxparse

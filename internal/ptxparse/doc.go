// Package ptxparse reads PTX: every variable, entry and function of a module, with names resolved to registers, variables and
// labels. It knows the grammar and no instruction: an opcode is a word, and what its operands must be is for the reader to say.
// Sizes and alignments are bytes. Errors are *SyntaxError, with line and reason. The result shares strings with the text.
package ptxparse

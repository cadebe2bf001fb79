// Package notetext has the sentence of each code of [dataset.Note].
//
// Programs that print notes import it: the command line, the pages of view and doctor, and the server of the Python package. Packages that read or use
// recordings exchange codes and do not import it.
package notetext

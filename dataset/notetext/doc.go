// Package notetext has the English sentence for each code in [dataset.Note].
//
//	fmt.Println(notetext.Line(note)) // "/camera: 3 of 200 images cannot be decoded"
//
// Programs that print notes import it: the command line, the pages of view and doctor, and the server for the Python package.
// Packages that read or process recordings exchange codes and do not import it.
package notetext

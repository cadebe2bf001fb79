// Package picture describes an encoded picture for a decoder in hardware, as the parsers of the codecs make it.
//
// The parameters have the layout of CUVIDPICPARAMS in NVIDIA's Video Codec SDK (cuviddec.h, 64-bit): numbers in the machine's order at
// fixed offsets. This package has the offsets that all codecs share.
package picture

// Package h264 parses progressive H.264 with 8 bits and 4:2:0 for a decoder in hardware: parameter sets, slice headers up to the
// reference marking, picture order counts and reference pictures. It does not read macroblocks.
//
// Source: ITU-T H.264 (08/2021). Comments name a section if its rule is not evident from the syntax. Errors use the element names in
// section 7.3.
package h264

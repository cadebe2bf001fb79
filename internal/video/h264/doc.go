// Package h264 parses progressive H.264 of 8 bits and 4:2:0 for a decoder in hardware: parameter sets, slice headers up to the
// reference marking, picture order counts and the reference pictures. It does not read macroblocks.
//
// Source: ITU-T H.264 (08/2021). Sections are named where a rule is not evident from the syntax. Names of syntax elements in errors are
// the names in section 7.3.
package h264

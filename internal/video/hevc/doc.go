// Package hevc makes the picture parameters of NVIDIA's decoder from HEVC packets: Main, Main 10 and Main 12, 4:2:0 with 8, 10 or 12
// bits, progressive. Streams with other features are a *picture.UnsupportedError, packets that break the standard's rules a
// *picture.InvalidError.
//
// Source: ITU-T H.265 (08/2021), sections 7.3, 7.4 and 8.3. Names of syntax elements in comments and errors are the standard's.
package hevc

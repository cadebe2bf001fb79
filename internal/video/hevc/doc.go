// Package hevc parses HEVC packets into picture parameters for NVIDIA's decoder, equal to those from NVIDIA's own parser. It reads
// progressive Main, Main 10 and Main 12 streams: 4:2:0, 8, 10 or 12 bits. For other streams it returns a *picture.UnsupportedError, and
// for packets that break the standard's rules a *picture.InvalidError.
//
// Source: ITU-T H.265 (08/2021), sections 7.3, 7.4, 8.3 and C.5.2. Syntax elements have the standard's names.
package hevc

// Package bitstream reads the syntax that H.264 and HEVC share: NAL units, and the bits of their payload.
//
// Source: ITU-T H.264 (08/2021) and H.265 (08/2021), sections 7.2, 9.1 or 9.2, and annex B.
package bitstream

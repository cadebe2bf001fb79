// Package yuv converts luma and chroma samples to red, green and blue.
package yuv

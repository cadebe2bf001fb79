// Package view serves a page for inspecting recordings: a list of episodes with the findings of package doctor, their streams on one time
// axis, the result of a plan over the samples, the cameras' frames at a cursor, and paths, point clouds and voxels.
//
//	s, err := view.New(d, view.Options{})
//	fmt.Println(s.URL(listener.Addr().String())) // the address with the token that every request needs
//	err = s.Serve(ctx, listener)                 // until ctx ends
//
// A [Server] reads its dataset and nothing else, and writes nothing. It answers GET and HEAD alone, and only under a name that is its own:
// an address, the host that Options names, or localhost, so that a page of another site, whose name leads here, is refused. The page needs
// no network: all of it, with the plotting library, is in the program.
//
// Streams are drawn from the least and greatest value of each pixel, which are kept for blocks of samples, so that an hour at 1 kHz is as
// quick to zoom as a second. Times on the page are seconds from the first sample of the episode. Episodes that were looked at are kept in
// memory, up to Options.Memory.
package view

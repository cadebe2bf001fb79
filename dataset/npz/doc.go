// Package npz reads and writes .npz files: zip archives of numpy arrays, as numpy.savez writes them.
//
//	f, err := npz.Open("episode.npz")
//	defer f.Close()
//	actions, err := f.Tensor("action")             // one array
//	e, _, err := f.Episode(npz.EpisodeOptions{})   // or all arrays NAME.values and NAME.times as streams
//
// An array's name is its file name in the archive without ".npy". It is never used as a path, so "/action", "a/../b" and bytes that
// are not UTF-8 are valid names. An array that is not read may be broken, of any type, or stored twice. Reading a name that is
// stored twice is an error, because numpy would return the last one and other zip readers differ.
//
// A [File] reads arrays on demand, in any order and from any number of goroutines. A [Writer] writes them one after the other,
// stored or deflated, and equal arrays give equal bytes. Package npy lists the dtypes. Declared sizes in the archive are never
// trusted: memory grows as data arrives, and checksums are verified.
package npz

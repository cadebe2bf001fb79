// Package loader makes training batches of recordings: windows of several streams around an anchor, on one clock, normalised and
// masked, on a device. The window order is a function of seed and epoch alone.
//
// A [store.Store] holds a dataset's recordings, packed stream by stream, in memory or in files.
//
// A [Loader] keeps a store on a device and draws from it. A batch is one launch. The window at a position of an epoch depends only on
// the seed, the epoch and the number of windows. So any number of ranks share one order, and a loader that resumes from a [State]
// continues it, to the bit.
//
// [New] keeps the whole store on the device. [NewStreaming] is for a dataset that does not fit there: its workers read the next shards
// while batches are drawn from the present ones. Both cut the order into shards in the same way, so both return the same bits.
//
// [NewMixture] draws from several stores, with or without weights. Cameras in [Options] add frames, which are decoded on the host in
// advance. A [Group] has a loader on each of several devices of one program.
//
// A window has the values that [align.Fuse] returns for the whole recording at the same times.
package loader

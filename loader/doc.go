// Package loader makes training batches of recordings: windows of several streams around an anchor, drawn in an order that is a function of seed and
// epoch alone, put on one clock, normalised and masked, on the device.
//
// A [store.Store] has the recordings of a dataset packed stream by stream, in memory or in files.
//
// A [Loader] keeps a store on a device and draws from it: a batch is one launch there. Which window is at which position of an epoch depends on
// nothing but the seed, the epoch and the number of windows, so any number of ranks share one order, and whoever goes on from a [State] goes on in
// it, to the bit.
//
// [New] keeps all of a store on the device. [NewStreaming] is for a dataset that does not fit there: its workers read the shards that come next while
// batches are drawn from others, in an order that needs few of them at a time. The order is cut into shards for both, so both give the same bits.
//
// [NewMixture] draws from several stores, by weights or as from one. Cameras in [Options] add frames, which are decoded on the host ahead of need. A
// [Group] is a loader on each of several devices of one program.
//
// What a window holds is what [align.Fuse] gives for the whole recording at the same times.
package loader

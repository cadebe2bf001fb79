// Package loader makes training batches from recordings. Most programs need three calls:
//
//	s, err := store.Build(ctx, dataset, store.BuildOptions{})                  // packs the recordings: package loader/store
//	l, err := loader.New(ctx, device, s, plan, loader.Options{Batch: 32, Seed: 7})
//	for batch, err := range l.Epoch(ctx) { ... }                               // batch.Stream("action").Values is [B,T,D]
//
// A batch has B windows, in tensors on the device. A window is each stream's values at some times around an anchor. The anchor is
// a tick of the plan's clock. [align.Plan] sets the clock, the streams, the windows and the normalisation. Masks show which
// values are valid, and which lie outside the recording. A window has the values that [align.Fuse] returns for the whole
// recording at the same times.
//
// A [Loader] keeps a [store.Store] on a device and draws from it. One launch makes a batch. The window at a position of an epoch
// depends only on the seed, the epoch and the number of windows. So any number of ranks (programs that train together) share one
// order, and a loader that resumes from a [State] continues it bit for bit.
//
// [New] keeps the whole store on the device. [NewStreaming] is for a dataset that does not fit there: its workers read the next
// shards while batches are drawn from the present ones. A shard is a number of consecutive windows. Both functions cut the order
// into shards in the same way, so both return the same bits.
//
// [NewMixture] draws from several stores, with or without weights. Cameras in [Options] add frames, which are decoded on the host
// in advance. A [Group] has a loader on each of several devices in one program.
package loader

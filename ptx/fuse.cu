// fuse.cu puts up to 16 streams on one clock in one launch, side by side in dst: the general kernel, which handles every job.
//
// The streams' blocks follow each other in the grid. A block takes `tile` targets of one stream. One thread per target finds its
// place among the stream's timestamps and keeps it in shared memory; warps without a target meanwhile check the block's part of the
// timestamps. After a barrier the block computes the features, in one of two forms:
//
// In chunks, for streams of one interpolation that looks at no value, of 4 or 2 byte dtypes on both sides: 2^vector elements at once, up
// to 16 bytes of source, of four consecutive targets; neighbouring threads take neighbouring chunks.
//
// By items, as resample_channels.cu, for the others.
//
// fuse_chunks.cu has only the first form, with fewer registers; this kernel has both.
//
// Results are normalised, if the stream asks for it, and rounded to dst's dtype: (x - shift) * scale in float.
//
// Bytes moved: as resample.cu and resample_channels.cu, stream by stream. Equal bits with the CPU, which are those of a
// Resample of each stream.
#include "fuse_chunks.cuh"
#include "fuse_items.cuh"

using namespace rc;

RC_KERNEL_OCC(128, 4) fuse(const fuse_params p) {
    __shared__ union {
        chunk_targets chunks;
        cached_targets<fuse_item_tile, true> items;
    } mem;
    const u32 m = stream_of(p);
    fuse_job j = job_of(p, m);
    begin(j);
    const u32 count = locate_targets_on_clock(j, [&](u32 i, const auto &at) {
        if (j.by_items())
            cache_target(j, mem.items, p.stream[m].items_of, i, at);
        else
            cache_chunk_target(j, mem.chunks, i, at);
    });
    if (!j.by_items()) end_chunks(mem.chunks, count);
    barrier();
    if (!j.by_items())
        move_chunks(j, mem.chunks, count);
    else if (j.in() == dt_f64)
        make_stream<dt_f64>(j, mem.items, count, p.stream[m].items, p.stream[m].items_of);
    else
        make_stream<dt_narrow>(j, mem.items, count, p.stream[m].items, p.stream[m].items_of);
    end(j);
}

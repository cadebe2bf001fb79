// meet.cu is where the ranks of a group wait for each other, each a process of its own: a warp says to every other rank how often it was here, and
// waits until each of them was here as often. What a rank has written before, in its own memory and in others', is there for all after it.
#include "warp.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 meet_threads = warp_size; // also the most ranks

RC_HOST struct meet_params {
    u32 *flags;        // this rank's flags: the number of meetings that each rank has reported
    const u64 *others; // the addresses of all ranks' flags
    const u32 *left;   // in host memory: not 0 after Leave, when waits must end
    u32 rank, ranks;
};

constexpr u32 look = 1024; // turns between two looks at what the host says, which is far away

RC_FN u32 ld_acquire_sys(const u32 *p) {
    u32 v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(global(p)) : "memory");
    return v;
}
RC_FN void st_release_sys(u32 *p, u32 v) { asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(global(p)), "r"(v) : "memory"); }

} // namespace

RC_KERNEL(meet_threads) meet(const meet_params p) {
    const u32 other = thread_x(), times = ld_acquire_sys(p.flags + p.rank) + 1;
    warp_barrier();
    if (other < p.ranks && other != p.rank) {
        st_release_sys((u32 *)ld_nc_u64(p.others + other) + p.rank, times);
        for (u32 turn = 1; (i32)(ld_acquire_sys(p.flags + other) - times) < 0; turn++)
            if (turn % look == 0 && ld_acquire_sys(p.left) != 0) break;
    }
    warp_barrier();
    if (other == 0) st_release_sys(p.flags + p.rank, times);
}

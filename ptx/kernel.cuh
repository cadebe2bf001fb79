// kernel.cuh is what a kernel of an operation does besides its work: it reports bad values, and keeps its place among the work of its queue. What
// a job, the type J, must have for it:
//
//     u64 *fault;                  // the cell that keeps the smallest fault
//     u32 *fault_flag;             // not 0 once there is one
//     u64 stream_bits() const;     // a Fuse's stream at bit 58, else 0
//     bool ready() const;          // nothing that it reads or writes is still being worked on
//     void fence_after_wait();     // what is read after the wait is not read before it
#pragma once
#include "common.cuh"

namespace rc {

// ---- Faults: the smallest one wins, so every run reports the same ----

constexpr u64 fault_rows = 0, fault_times = 1ull << 62, fault_targets = 2ull << 62;

template <class J> RC_FN void report(const J &j, u64 fault_class, u64 position, u64 reason) {
    atomic_min_u64(j.fault, fault_class | j.stream_bits() | position << 4 | reason);
    *(volatile u32 *)j.fault_flag = 1;
}

// ---- Programmatic dependent launch ----

// begin is a kernel's first step: it waits for the work ahead of it, unless the caller has said that none of it concerns the job. end
// is the last, and then waits, in one thread: the work behind this kernel takes its end to mean that all before it has ended.
template <class J> RC_FN void begin(J &j) {
    if (!j.ready()) grid_dependency_wait();
    launch_dependents();
    j.fence_after_wait();
}
template <class J> RC_FN void end(const J &j) {
    if (j.ready() && block_x() == 0 && thread_x() == 0) grid_dependency_wait();
}

} // namespace rc

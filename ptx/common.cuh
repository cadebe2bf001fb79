// common.cuh is all the CUDA that the kernels need: no NVIDIA header, no libdevice.
//
// It compiles with clang++-19 (-x cuda -nocudainc -nocudalib) and with nvcc, and means the same under both.
// What C++ says exactly (+, -, *, casts, comparisons) stays C++: the build turns contraction off, so that each
// operation rounds on its own. What C++ leaves to a compiler or a library is one PTX instruction here, by name.
//
// Pointers given to ld_*, st_* and atomic_* are global memory, aligned to the access. A ld_nc_* load must
// not read bytes that the same launch writes; the compiler may move it across stores and barriers.
#pragma once

#if defined(__clang__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#endif

// RC_FN marks a device function, RC_KERNEL an entry with its largest block size.
// The entry keeps its name in the PTX, unmangled.
#define RC_FN static __device__ __forceinline__
#define RC_FN_MEMBER __device__ __forceinline__
#define RC_KERNEL(max_threads) extern "C" __global__ void __launch_bounds__(max_threads)
#define RC_KERNEL_OCC(max_threads, min_blocks) extern "C" __global__ void __launch_bounds__(max_threads, min_blocks)

// RC_HOST marks a constant, an enum or a struct that the host shares: scripts/build_ptx.sh writes it in Go to zinterface.go, under
// the name that Go gives it (src_batch is SrcBatch), with its comment. Constants are integers, and enums say their type:
//
//     RC_HOST constexpr u32 max_tile = fast_threads * max_units_per_thread; // MaxTile
//     RC_HOST enum clock : u32 { clock_i64, clock_f64 };          // ClockI64, ClockF64
//     RC_HOST struct fast_params { const void *src; u32 flags; }; // type FastParams, whose Bytes a launch takes
//
// RC_FLAG(word, type, name, shift, width) in a struct is a field of a word of switches: a member function here, and in Go a field of
// the type that is named for the struct and the word (FastParamsFlags), whose Word puts them together. A name that is marked twice
// is an error, as is all that the host could not know: what lies inside #if, a type that is not marked.
#define RC_HOST
#define RC_FLAG(word, type, name, shift, width) \
    RC_FN_MEMBER type name() const { return (type)((word) >> (shift) & ((1u << (width)) - 1)); }

#define RC_UNROLL _Pragma("unroll")
#if defined(__clang__)
#define RC_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define RC_NO_UNROLL _Pragma("unroll 1")
#endif

// RC_INLINE_LAMBDA stands behind a lambda's parameters that must not become a function of its own, however often it is called.
#define RC_INLINE_LAMBDA __attribute__((always_inline))

// RC_LIKELY and RC_UNLIKELY are branch hints: unlikely code is laid out behind the rest, out of the way of the instructions that a
// small launch has to fetch.
#define RC_LIKELY(x) __builtin_expect(!!(x), 1)
#define RC_UNLIKELY(x) __builtin_expect(!!(x), 0)

namespace rc {

using u8 = unsigned char;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8 && sizeof(void *) == 8, "64-bit device expected");

RC_HOST constexpr u32 warp_size = 32; // threads in a warp

// ---- Where this thread is ----

#if defined(__clang__)
RC_FN u32 thread_x() { return __nvvm_read_ptx_sreg_tid_x(); }
RC_FN u32 threads_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
RC_FN u32 block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
RC_FN u32 block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
RC_FN u32 block_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
RC_FN u32 blocks_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
#else
RC_FN u32 thread_x() { return threadIdx.x; }
RC_FN u32 threads_x() { return blockDim.x; }
RC_FN u32 block_x() { return blockIdx.x; }
RC_FN u32 block_y() { return blockIdx.y; }
RC_FN u32 block_z() { return blockIdx.z; }
RC_FN u32 blocks_x() { return gridDim.x; }
#endif

// reload_thread_x is thread_x, read anew where it is used instead of kept in a register; reload_threads_x likewise.
RC_FN u32 reload_thread_x() {
    u32 r;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(r));
    return r;
}
RC_FN u32 reload_threads_x() {
    u32 r;
    asm volatile("mov.u32 %0, %%ntid.x;" : "=r"(r));
    return r;
}

// barrier waits for every thread of the block and orders their shared and global accesses.
RC_FN void barrier() { __syncthreads(); }

// ---- Bits ----

RC_FN u32 bits(float x) { return __builtin_bit_cast(u32, x); }
RC_FN u64 bits(double x) { return __builtin_bit_cast(u64, x); }
RC_FN float as_f32(u32 b) { return __builtin_bit_cast(float, b); }
RC_FN double as_f64(u64 b) { return __builtin_bit_cast(double, b); }
RC_FN bool is_nan(float x) { return x != x; }
RC_FN bool is_nan(double x) { return x != x; }
RC_FN bool negative(float x) { return bits(x) >> 31; }
RC_FN bool negative(double x) { return bits(x) >> 63; }
RC_FN bool is_finite(float x) { return (bits(x) & 0x7f800000u) != 0x7f800000u; }
RC_FN bool is_finite(double x) { return (bits(x) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull; }

// ---- Global memory ----

struct alignas(16) v16 {
    u32 x, y, z, w;
};
struct alignas(8) v8 {
    u32 x, y;
};

// global turns a generic address into one of the global window, as ld.global wants it.
#if defined(__clang__)
RC_FN u64 global(const void *p) { return (u64)(const __attribute__((address_space(1))) void *)p; }
#else
RC_FN u64 global(const void *p) { return (u64)__cvta_generic_to_global(p); }
#endif

// Loads of memory that nothing writes during the launch, through the read-only path.
RC_FN v16 ld_nc_16(const void *p) {
    v16 v;
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(global(p)));
    return v;
}
// ld_nc_16_volatile is ld_nc_16 that stays where it stands, however late its value is needed.
RC_FN v16 ld_nc_16_volatile(const void *p) {
    v16 v;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(global(p)));
    return v;
}
RC_FN void prefetch(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(global(p))); }
RC_FN v8 ld_nc_8(const void *p) {
    v8 v;
    asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(global(p)));
    return v;
}
RC_FN u64 ld_nc_u64(const void *p) {
    u64 v;
    asm("ld.global.nc.u64 %0, [%1];" : "=l"(v) : "l"(global(p)));
    return v;
}
// ld_nc_u64_volatile is ld_nc_u64 that stays where it stands.
RC_FN u64 ld_nc_u64_volatile(const void *p) {
    u64 v;
    asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(v) : "l"(global(p)));
    return v;
}
RC_FN u32 ld_nc_u32(const void *p) {
    u32 v;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(global(p)));
    return v;
}
RC_FN u16 ld_nc_u16(const void *p) {
    u16 v;
    asm("ld.global.nc.u16 %0, [%1];" : "=h"(v) : "l"(global(p)));
    return v;
}
RC_FN float ld_nc_f32(const void *p) { return as_f32(ld_nc_u32(p)); }
RC_FN double ld_nc_f64(const void *p) { return as_f64(ld_nc_u64(p)); }

RC_FN void st_16(void *p, v16 v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(global(p)), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}
RC_FN void st_8(void *p, v8 v) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(global(p)), "r"(v.x), "r"(v.y) : "memory");
}
RC_FN void st_u64(void *p, u64 v) { asm volatile("st.global.u64 [%0], %1;" ::"l"(global(p)), "l"(v) : "memory"); }
RC_FN void st_u32(void *p, u32 v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(global(p)), "r"(v) : "memory"); }
RC_FN void st_u16(void *p, u16 v) { asm volatile("st.global.u16 [%0], %1;" ::"l"(global(p)), "h"(v) : "memory"); }
RC_FN void st_u8(void *p, u8 v) { asm volatile("st.global.u8 [%0], %1;" ::"l"(global(p)), "h"((u16)v) : "memory"); }
RC_FN void st_f32(void *p, float v) { st_u32(p, bits(v)); }
RC_FN void st_f64(void *p, double v) { st_u64(p, bits(v)); }

// ---- Conversions, each rounded once, to nearest even ----

RC_FN float f16_to_f32(u16 h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
RC_FN float f16_lo(u32 pair) { return f16_to_f32((u16)pair); }
RC_FN float f16_hi(u32 pair) { return f16_to_f32((u16)(pair >> 16)); }
RC_FN float bf16_lo(u32 pair) { return as_f32(pair << 16); }
RC_FN float bf16_hi(u32 pair) { return as_f32(pair & 0xffff0000u); }

RC_FN u16 f32_to_f16(float x) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
RC_FN u16 f32_to_bf16(float x) {
    u16 h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
// The pair forms put lo in the low half, which comes first in memory.
RC_FN u32 f32_to_f16x2(float lo, float hi) {
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}
RC_FN u32 f32_to_bf16x2(float lo, float hi) {
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}

// f64_to_f32_odd rounds to odd: toward zero, with the last bit set if anything was cut off. A second rounding
// to a format at least two bits narrower then gives what one rounding would have given (Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums", 2008). A NaN stays a NaN; past the float range the result is
// the largest float, whose last bit is set, and the second rounding makes it infinite.
RC_FN float f64_to_f32_odd(double x) {
    float f;
    asm("cvt.rz.f32.f64 %0, %1;" : "=f"(f) : "d"(x));
    return (double)f == x ? f : as_f32(bits(f) | 1u);
}
RC_FN u16 f64_to_f16(double x) { return f32_to_f16(f64_to_f32_odd(x)); }
RC_FN u16 f64_to_bf16(double x) { return f32_to_bf16(f64_to_f32_odd(x)); }
RC_FN float f64_to_f32(double x) {
    float f;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(f) : "d"(x));
    return f;
}

// ---- Arithmetic that C++ leaves open ----

RC_FN float div_rn(float a, float b) {
    float r;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
RC_FN double div_rn(double a, double b) {
    double r;
    asm("div.rn.f64 %0, %1, %2;" : "=d"(r) : "d"(a), "d"(b));
    return r;
}
// div_fast is within 2 units in the last place for divisors from 2^-126 to 2^126, and any number for others. It is for guesses
// that are checked afterwards.
RC_FN float div_fast(float a, float b) {
    float r;
    asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
// add_rm is a + b rounded down.
RC_FN float add_rm(float a, float b) {
    float r;
    asm("add.rm.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
// add_rz is a + b rounded toward zero, fma_rn a * b + c rounded once.
RC_FN double add_rz(double a, double b) {
    double r;
    asm("add.rz.f64 %0, %1, %2;" : "=d"(r) : "d"(a), "d"(b));
    return r;
}
RC_FN float fma_rn(float a, float b, float c) {
    float r;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c));
    return r;
}
RC_FN double fma_rn(double a, double b, double c) {
    double r;
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(r) : "d"(a), "d"(b), "d"(c));
    return r;
}
RC_FN u32 mul_hi(u32 a, u32 b) {
    u32 r;
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
RC_FN float sqrt_rn(float a) {
    float r;
    asm("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
RC_FN double sqrt_rn(double a) {
    double r;
    asm("sqrt.rn.f64 %0, %1;" : "=d"(r) : "d"(a));
    return r;
}
RC_FN float floor_f(float a) {
    float r;
    asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
RC_FN double floor_f(double a) {
    double r;
    asm("cvt.rmi.f64.f64 %0, %1;" : "=d"(r) : "d"(a));
    return r;
}
RC_FN float abs_f(float a) { return as_f32(bits(a) & 0x7fffffffu); }
RC_FN double abs_f(double a) { return as_f64(bits(a) & 0x7fffffffffffffffull); }

// ---- Programmatic dependent launch ----

// A kernel launched with programmatic stream serialization may begin before the kernel in front of it on the stream has ended.
// launch_dependents lets the next kernel begin from here on; grid_dependency_wait waits for the end of the kernel in front, and what that
// wrote is visible after it. A kernel waits first and lets the next begin second: one that began while two others ran could find, on the
// read-only path, what the first of them had read before the second wrote. In other launches neither does anything.
RC_FN void launch_dependents() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
RC_FN void grid_dependency_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// after_wait is a compiler fence that keeps loads through p behind a wait: those of the read-only path are not ordered otherwise.
template <class T> RC_FN void after_wait(const T *&p) { asm volatile("" : "+l"(p)::"memory"); }

template <class T> RC_FN const T *waited(const T *p) {
    after_wait(p);
    return p;
}

// ---- Atomics ----

// The atomic is relaxed, on global memory, and returns what was there before.
RC_FN u64 atomic_min_u64(u64 *p, u64 v) {
    u64 old;
    asm volatile("atom.global.min.u64 %0, [%1], %2;" : "=l"(old) : "l"(global(p)), "l"(v) : "memory");
    return old;
}

} // namespace rc

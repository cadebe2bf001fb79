// mma.cuh is what kernels of matrix products share: tiles come from global into shared memory by cp.async, from there into registers by ldmatrix,
// and are multiplied by mma.sync m16n8k16 on bfloat16 with float32 sums. Shared addresses are u32, of shared_at, multiples of 16.
//
// Lane l of a warp, with g = l / 4 and t = l % 4, holds of the tiles of a product D = A B + D (a pair is two columns, or rows of B, the lower first):
//
//     A 16 x 16   a[0] row g, columns 2t, 2t+1   a[1] row g+8   a[2] row g, columns 2t+8, 2t+9   a[3] row g+8 of those
//     B 16 x 8    b[0] rows 2t, 2t+1, column g   b[1] rows 2t+8, 2t+9
//     D 16 x 8    d[0], d[1] row g, columns 2t, 2t+1   d[2], d[3] row g+8
#pragma once
#include "warp.cuh"

namespace rc {

// cp_async_16 begins to copy 16 bytes from global to shared memory, past the level-one cache; zeros where there is nothing, and then from is not read.
RC_FN void cp_async_16(u32 to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global(from)) : "memory");
}
RC_FN void cp_async_16(u32 to, const void *from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global(from)), "r"(there ? 16u : 0u) : "memory");
}
// cp_async_16_if does so, or nothing.
RC_FN void cp_async_16_if(bool copies, u32 to, const void *from, bool there) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t@p cp.async.cg.shared.global [%0], [%1], 16, %2;\n\t}" ::"r"(to), "l"(global(from)),
                 "r"(there ? 16u : 0u), "r"((u32)copies)
                 : "memory");
}
// cp_async_commit ends a group of this thread's copies; cp_async_wait waits for all but its last Behind groups. Others see them after a barrier.
RC_FN void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <u32 Behind> RC_FN void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(Behind) : "memory"); }

// ldmatrix_x4 loads four matrices of 8 rows of 16 bytes: lane l gives the address of row l % 8 of matrix l / 8, and r[i] is of matrix i the elements
// 2t and 2t+1 of row g. Loaded trans, it is element g of the rows 2t and 2t+1.
RC_FN void ldmatrix_x4(u32 (&r)[4], u32 row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
}
RC_FN void ldmatrix_x4_trans(u32 (&r)[4], u32 row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
}

// mma_bf16 adds the product of a and b, of bfloat16, to d.
RC_FN void mma_bf16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
RC_FN void mma_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { mma_bf16(d, a, b[0], b[1]); }

// Shared memory by its address.
RC_FN v16 ld_shared_16(u32 p) {
    v16 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(p) : "memory");
    return v;
}
RC_FN void st_shared_16(u32 p, v16 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
RC_FN void st_shared_4(u32 p, u32 v) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(p), "r"(v) : "memory"); }
RC_FN void st_shared_8(u32 p, v8 v) { asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(p), "r"(v.x), "r"(v.y) : "memory"); }

// pack_bf16x2 rounds a pair to bfloat16, lo in the low half.
RC_FN u32 pack_bf16x2(float lo, float hi) { return f32_to_bf16x2(lo, hi); }

} // namespace rc

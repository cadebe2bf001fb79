// deadband.cu takes the trembling out of a stick: values closer to zero than width become zero, the others move towards
// zero by width, so that there is no step. Thread i does element i. It reads 4n bytes and writes 4n.
//
// No header and no toolkit are needed:
//
//   clang++-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx74 -nocudainc -nocudalib \
//       -ffp-contract=off -O3 -std=c++17 -S -o deadband.ptx deadband.cu

extern "C" __attribute__((global)) void deadband(float *out, const float *in, float width, unsigned n) {
    const unsigned i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
    if (i >= n)
        return;
    const float x = in[i];
    out[i] = x > width ? x - width : x < -width ? x + width : 0.0f;
}

// noise.cu adds noise to chunks for training, and turns noise into chunks by a network's predictions: backend.NoiseJob and backend.SampleJob have the
// formulas. A thread makes a column in a chunk's token: a value, or an element in the noise level's embedding. Neighbouring threads write neighbouring columns.
// Bytes moved: noise reads 4 for a value and writes 6; sample reads 8 and writes 6; both read 4 for an element in the embedding and write 2. If sample adds
// noise, each thread also reads the row's other tokens, because their hash is the random numbers' counter.
#include "rows.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 noise_threads = 256;

// noise_chunks is a backend.Chunks. first is the number of tokens before the chunk, and width that of an embedding.
RC_HOST struct noise_chunks {
    u16 *input;
    u64 input_step;
    const float *embedding;
    u64 embedding_step;
    u64 seed;
    u32 b, t, first, a, column, width;
};

RC_HOST struct noise_params {
    noise_chunks chunks;
    const i32 *draws;
    const v16 *levels;
    const float *clean, *counts;
    float *targets, *weights;
    u64 clean_step, target_step;
    const i64 *state;
    u32 draw_count, unused;
};

RC_HOST struct sample_params {
    noise_chunks chunks;
    const float *prediction; // null in the first step
    float *sample;
    u64 prediction_step, sample_step;
    float keep_x, keep_v, limit, from_x, from_y, noise;
    i32 level;
    u32 site;
};

RC_HOST constexpr u32 noise_site = 1u << 31;

RC_FN u32 ld_u16(const u16 *p) {
    u16 v;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(global(p)));
    return v;
}

// place locates a thread's column: row b, token i in the chunk, column c.
struct place {
    u32 b, i, c;
    u32 value;   // the value's number, if c has one
    u32 clean;   // the token's index among the chunks' tokens
    u64 token;   // its index among all tokens
    bool inside; // else the thread has no column

    RC_FN_MEMBER explicit place(const noise_chunks &p) {
        const u32 columns = p.a + p.width, chunk = p.t - p.first, at = block_x() * noise_threads + thread_x();
        clean = at / columns, c = at - clean * columns;
        b = clean / chunk, i = clean - b * chunk;
        value = clean * p.a + c;
        token = (u64)b * p.t + p.first + i;
        inside = b < p.b;
    }
};

RC_FN u32 word(u64 seed, u32 step, u32 site, u32 number) { return word_of(random_words(seed, step, site, number / 4), number & 3); }

// write writes a value, or an element in a level's embedding.
RC_FN void write(const noise_chunks &p, const place &at, u32 level, float value) {
    if (at.c >= p.a) value = ld_f32(p.embedding + level * p.embedding_step + (at.c - p.a));
    st_u16(p.input + at.token * p.input_step + p.column + at.c, f32_to_bf16(value));
}

} // namespace

RC_KERNEL(noise_threads) noise(const noise_params p) {
    const place at(p.chunks);
    grid_dependency_wait();
    launch_dependents();
    if (!at.inside) return;
    const u64 seed = p.chunks.seed;
    const u32 step = ld_u32(p.state);
    const u32 level = ld_u32(p.draws + mul_hi(word(seed, step, noise_site + 1, at.b), p.draw_count));
    float value = 0.0f;
    if (at.c < p.chunks.a) {
        const v16 l = ld_16(p.levels + level);
        const float z = normal_of(word(seed, step, noise_site, at.value)), x = ld_f32(p.clean + at.clean * p.clean_step + at.c);
        value = x * as_f32(l.x) + z * as_f32(l.y);
        st_f32(p.targets + at.token * p.target_step + at.c, x * as_f32(l.z) + z * as_f32(l.w));
        if (at.c == 0) st_f32(p.weights + at.token, ld_f32(p.counts + at.clean));
    }
    write(p.chunks, at, level, value);
}

RC_KERNEL(noise_threads) sample(const sample_params p) {
    const place at(p.chunks);
    grid_dependency_wait();
    launch_dependents();
    if (!at.inside) return;
    float value = 0.0f;
    if (at.c < p.chunks.a) {
        float z = 0.0f;
        if (p.prediction == nullptr || p.noise != 0.0f) {
            u32 hash = 2166136261u;
            for (u32 t = 0; t < p.chunks.first; t++) {
                const u16 *row = p.chunks.input + ((u64)at.b * p.chunks.t + t) * p.chunks.input_step;
                for (u32 c = 0; c < p.chunks.column; c++) hash = (hash ^ ld_u16(row + c)) * 16777619u;
            }
            z = normal_of(word(p.chunks.seed, hash, p.site, at.i * p.chunks.a + at.c));
        }
        float *to = p.sample + at.clean * p.sample_step + at.c;
        value = z;
        if (p.prediction != nullptr) {
            const float x = ld_f32(to), v = ld_f32(p.prediction + at.token * p.prediction_step + at.c);
            float y = x * p.keep_x + v * p.keep_v;
            y = y > p.limit ? p.limit : y < -p.limit ? -p.limit : y;
            value = x * p.from_x + y * p.from_y;
            if (p.noise != 0.0f) value = value + z * p.noise;
        }
        st_f32(to, value);
    }
    if (p.level >= 0) write(p.chunks, at, (u32)p.level, value);
}

// Matrix products with packed weights. Packed: for each group of 16 output rows, for each block of 32 inputs,
//   q4_1: 16 scales, 16 minima (float16), then for each pair of inputs 16 bytes, the even input's quant low
//   q8_0: 16 scales (float16), then for each input 16 signed bytes
// and float32: for each group, for each input, 16 floats.
#include <vector>

#include "pool.h"
#include "tile.h"

enum Format { Q4_1 = 0, Q8_0 = 1, FLOAT = 2 };
constexpr int BLOCK = 32;
// Groups that one row's product takes together: enough chains to hide the latency of an addition.
constexpr int VECTOR_GROUPS = 3;
// The streams of the groups are short, so the hardware's prefetcher comes late.
constexpr long PREFETCH_BYTES = 2560;

constexpr long block_bytes(int format) { return format == Q4_1 ? 320 : format == Q8_0 ? 544 : BLOCK * GROUP * 4; }

// Calls use(input, vector, weights) for every vector of a block's weights, in the order of inputs. Scale times
// quant is exact in float32, so a fused and a separate addition of the minimum give the same weight.
template <int FORMAT, int GROUPS, typename Use>
inline void each_weight(const uint8_t* const* block, const Use& use) {
    floats scale[GROUPS * VECTORS], minimum[GROUPS * VECTORS];
    for (int v = 0; v < GROUPS * VECTORS; v++) {
        const uint8_t* head = block[v / VECTORS] + v % VECTORS * LANES * 2;
        if (FORMAT != FLOAT) scale[v] = load_halves(head);
        if (FORMAT == Q4_1) minimum[v] = load_halves(head + 2 * GROUP);
    }
    for (int k = 0; k < BLOCK; k += 2)
        for (int v = 0; v < GROUPS * VECTORS; v++) {
            const uint8_t* from = block[v / VECTORS];
            int lane = v % VECTORS * LANES;
            if constexpr (FORMAT == Q4_1) {
                ints pair = widen(from + 64 + k / 2 * GROUP + lane);
                use(k, v, scale[v] * __builtin_convertvector(pair & 15, floats) + minimum[v]);
                use(k + 1, v, scale[v] * __builtin_convertvector(pair >> 4, floats) + minimum[v]);
            } else if constexpr (FORMAT == Q8_0) {
                const uint8_t* quants = from + 32 + k * GROUP + lane;
                ints even = widen_signed(quants);
                ints odd = widen_signed(quants + GROUP);
                use(k, v, scale[v] * __builtin_convertvector(even, floats));
                use(k + 1, v, scale[v] * __builtin_convertvector(odd, floats));
            } else {
                const float* values = (const float*)from + k * GROUP + lane;
                use(k, v, load<floats>(values));
                use(k + 1, v, load<floats>(values + GROUP));
            }
        }
}

// One row: weights are used as they are unpacked. The chain of each sum is that of `multiply`.
template <int FORMAT, int GROUPS>
static void one_row(const float* x, const uint8_t* packed, long group_bytes, int blocks, float* out) {
    floats sums[GROUPS * VECTORS] = {};
    for (int b = 0; b < blocks; b++) {
        const uint8_t* block[GROUPS];
        for (int g = 0; g < GROUPS; g++) block[g] = packed + g * group_bytes + b * block_bytes(FORMAT);
        const float* inputs = x + b * BLOCK;
        for (int g = 0; g < GROUPS; g++)
            for (int line = 0; line < block_bytes(FORMAT); line += 64)
                __builtin_prefetch(block[g] + PREFETCH_BYTES + line);
        each_weight<FORMAT, GROUPS>(block,
                                    [&](int k, int v, floats weight) { sums[v] += spread(inputs[k]) * weight; });
    }
    for (int v = 0; v < GROUPS * VECTORS; v++) store(out + v * LANES, sums[v]);
}

template <int FORMAT>
static void unpack(const uint8_t* group, int blocks, float* to) {
    for (int b = 0; b < blocks; b++) {
        const uint8_t* block = group + b * block_bytes(FORMAT);
        float* at = to + b * BLOCK * GROUP;
        each_weight<FORMAT, 1>(&block, [&](int k, int v, floats weight) { store(at + k * GROUP + v * LANES, weight); });
    }
}

template <int FORMAT>
static void product(const float* x, int rows, int inputs, const uint8_t* packed, int groups, float* out) {
    const int blocks = inputs / BLOCK;
    const long group_bytes = blocks * block_bytes(FORMAT), width = long(groups) * GROUP;
    if (rows == 1) {
        Pool::shared().loop((groups + VECTOR_GROUPS - 1) / VECTOR_GROUPS, [&](int item) {
            int first = item * VECTOR_GROUPS, count = groups - first < VECTOR_GROUPS ? groups - first : VECTOR_GROUPS;
            const uint8_t* from = packed + first * group_bytes;
            float* to = out + long(first) * GROUP;
            if (count == 3) one_row<FORMAT, 3>(x, from, group_bytes, blocks, to);
            else if (count == 2) one_row<FORMAT, 2>(x, from, group_bytes, blocks, to);
            else one_row<FORMAT, 1>(x, from, group_bytes, blocks, to);
        });
        return;
    }
    Pool::shared().loop((groups + TILE_GROUPS - 1) / TILE_GROUPS, [&](int item) {
        static thread_local std::vector<float> scratch;
        int first = item * TILE_GROUPS, count = groups - first < TILE_GROUPS ? groups - first : TILE_GROUPS;
        const float* weights[TILE_GROUPS];
        if (FORMAT != FLOAT) scratch.resize(size_t(TILE_GROUPS) * inputs * GROUP);
        for (int g = 0; g < count; g++) {
            const uint8_t* group = packed + (first + g) * group_bytes;
            if (FORMAT == FLOAT) weights[g] = (const float*)group;
            else {
                float* unpacked = scratch.data() + long(g) * inputs * GROUP;
                unpack<FORMAT>(group, blocks, unpacked);
                weights[g] = unpacked;
            }
        }
        multiply_rows(rows, count, x, inputs, inputs, weights, GROUP, out + long(first) * GROUP, width, false);
    });
}

// out (rows, groups * 16) = x (rows, inputs) times the packed weights; inputs is a multiple of 32.
extern "C" void linear(const float* x, int rows, int inputs, const uint8_t* packed, int format, int groups,
                       float* out) {
    if (format == Q4_1) product<Q4_1>(x, rows, inputs, packed, groups, out);
    else if (format == Q8_0) product<Q8_0>(x, rows, inputs, packed, groups, out);
    else product<FLOAT>(x, rows, inputs, packed, groups, out);
}

extern "C" void set_threads(int threads) { Pool::shared().resize(threads); }

extern "C" int lanes() { return LANES; }

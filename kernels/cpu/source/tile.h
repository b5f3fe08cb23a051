// The product of a few rows with two groups of weights: where nearly all the time goes.
#pragma once

#include "lanes.h"

constexpr int TILE_VECTORS = TILE_GROUPS * VECTORS;

// out[r][g * 16 + lane] (+)= sum over k of x[r * x_stride + k] * weights[g][k * step + lane].
// Each sum is one chain in the order of k, so it does not depend on how many rows or groups go together.
template <int ROWS, int GROUPS>
inline void multiply(const float* x, long x_stride, int depth, const float* const* weights, long step, float* out,
                     long out_stride, bool onto) {
    floats sums[ROWS][GROUPS * VECTORS];
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < GROUPS * VECTORS; v++)
            sums[r][v] = onto ? load<floats>(out + r * out_stride + v * LANES) : floats{};
    const float* group[GROUPS];
    for (int g = 0; g < GROUPS; g++) group[g] = weights[g];
    for (int k = 0; k < depth; k++) {
        floats w[GROUPS * VECTORS];
        for (int v = 0; v < GROUPS * VECTORS; v++)
            w[v] = load<floats>(group[v / VECTORS] + k * step + v % VECTORS * LANES);
        for (int r = 0; r < ROWS; r++) {
            floats factor = spread(x[r * x_stride + k]);
            for (int v = 0; v < GROUPS * VECTORS; v++) sums[r][v] += factor * w[v];
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < GROUPS * VECTORS; v++) store(out + r * out_stride + v * LANES, sums[r][v]);
}

template <int ROWS, int GROUPS>
inline void multiply_rest(int rows, const float* x, long x_stride, int depth, const float* const* weights, long step,
                          float* out, long out_stride, bool onto) {
    if (rows == ROWS) multiply<ROWS, GROUPS>(x, x_stride, depth, weights, step, out, out_stride, onto);
    else if constexpr (ROWS > 1)
        multiply_rest<ROWS - 1, GROUPS>(rows, x, x_stride, depth, weights, step, out, out_stride, onto);
}

// Any number of rows, and 1 to TILE_GROUPS groups.
inline void multiply_rows(int rows, int groups, const float* x, long x_stride, int depth,
                          const float* const* weights, long step, float* out, long out_stride, bool onto) {
    for (int row = 0; row < rows; row += TILE_ROWS) {
        int now = rows - row < TILE_ROWS ? rows - row : TILE_ROWS;
        const float* from = x + row * x_stride;
        float* to = out + row * out_stride;
        if (groups == TILE_GROUPS)
            multiply_rest<TILE_ROWS, TILE_GROUPS>(now, from, x_stride, depth, weights, step, to, out_stride, onto);
        else multiply_rest<TILE_ROWS, 1>(now, from, x_stride, depth, weights, step, to, out_stride, onto);
    }
}

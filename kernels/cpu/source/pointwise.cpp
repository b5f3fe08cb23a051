// Norm and gate, row by row.
#include <cmath>

#include "pool.h"
#include "lanes.h"

constexpr int ROWS_AN_ITEM = 16;

template <typename Body>
static void each_row(int rows, const Body& body) {
    Pool::shared().loop((rows + ROWS_AN_ITEM - 1) / ROWS_AN_ITEM, [&](int item) {
        for (int row = item * ROWS_AN_ITEM; row < rows && row < (item + 1) * ROWS_AN_ITEM; row++) body(row);
    });
}

// out = x / sqrt(mean(x^2) + eps) * weight; size is a multiple of 16.
extern "C" void rms_norm(const float* x, const float* weight, int rows, int size, float eps, float* out) {
    each_row(rows, [&](int row) {
        const float* from = x + long(row) * size;
        floats squares = {};
        for (int i = 0; i < size; i += LANES) {
            floats value = load<floats>(from + i);
            squares += value * value;
        }
        float scale = 1.0f / std::sqrt(sum(squares) / float(size) + eps);
        for (int i = 0; i < size; i += LANES)
            store(out + long(row) * size + i, load<floats>(from + i) * scale * load<floats>(weight + i));
    });
}

// gate_up (rows, 2 * size) holds the gate, then the up projection: out = gate * sigmoid(gate) * up.
extern "C" void swiglu(const float* gate_up, int rows, int size, float* out) {
    each_row(rows, [&](int row) {
        const float *gate = gate_up + long(row) * 2 * size, *up = gate + size;
        for (int i = 0; i < size; i += LANES) {
            floats g = load<floats>(gate + i);
            store(out + long(row) * size + i, g / (1.0f + exponential(-g)) * load<floats>(up + i));
        }
    });
}

// Rotary positions, the cache, and attention over a shared prefix and a sequence's own keys.
//
// Cache of a layer: keys (kv_heads, capacity / 16, head_dim, 16), so that 16 keys are a group of `multiply`;
// values (kv_heads, capacity, head_dim).
#include <cmath>
#include <limits>
#include <vector>

#include "pool.h"
#include "tile.h"

struct Span {
    long row, rows;        // its rows in the batch
    long before;           // keys of its own that are there already
    long prefix;           // keys shared with others, before its own
    const float *prefix_keys, *prefix_values;
    long prefix_capacity;
    float *keys, *values;
    long capacity;
};

struct Shape {
    int heads, kv_heads, head_dim;
};

constexpr int TOKENS_AN_ITEM = 4;

static void rotate(const float* from, const float* cosine, const float* sine, int half, float* to) {
    for (int i = 0; i < half; i++) {
        to[i] = from[i] * cosine[i] - from[i + half] * sine[i];
        to[i + half] = from[i + half] * cosine[i] + from[i] * sine[i];
    }
}

static void remember(const Span& span, const Shape& s, long layer, const float* qkv, const float* cosine,
                     const float* sine, long token) {
    const long at = span.before + token, row = span.row + token, half = s.head_dim / 2;
    const float* source = qkv + row * (s.heads + 2 * s.kv_heads) * s.head_dim + s.heads * s.head_dim;
    std::vector<float> key(s.head_dim);
    for (int head = 0; head < s.kv_heads; head++) {
        long plane = (layer * s.kv_heads + head) * span.capacity * s.head_dim;
        rotate(source + head * s.head_dim, cosine + row * half, sine + row * half, half, key.data());
        float* column = span.keys + plane + at / GROUP * GROUP * s.head_dim + at % GROUP;
        for (int i = 0; i < s.head_dim; i++) column[i * GROUP] = key[i];
        std::memcpy(span.values + plane + at * s.head_dim, source + (s.kv_heads + head) * s.head_dim,
                    s.head_dim * sizeof(float));
    }
}

static void scores(const float* q, int rows, int head_dim, const float* keys, long count, float* out, long stride) {
    for (long at = 0; at < count; at += GROUP * TILE_GROUPS) {
        int groups = count - at > GROUP * (TILE_GROUPS - 1) ? TILE_GROUPS : 1;
        const float* tiles[TILE_GROUPS];
        for (int g = 0; g < groups; g++) tiles[g] = keys + (at + g * GROUP) * head_dim;
        multiply_rows(rows, groups, q, head_dim, head_dim, tiles, GROUP, out + at, stride, false);
    }
}

static void gather(const float* weights, long stride, int rows, int head_dim, const float* values, long count,
                   float* out, bool onto) {
    for (int dim = 0; dim < head_dim; dim += GROUP * TILE_GROUPS) {
        int groups = head_dim - dim >= GROUP * TILE_GROUPS ? TILE_GROUPS : 1;
        const float* columns[TILE_GROUPS];
        for (int g = 0; g < groups; g++) columns[g] = values + dim + g * GROUP;
        multiply_rows(rows, groups, weights, stride, int(count), columns, head_dim, out + dim, head_dim, onto);
    }
}

// Turns scores into e^(score - maximum), 0 past `visible`, and returns 1 / their sum.
static float soften(float* row, long visible, long length) {
    for (long i = visible; i < length; i++) row[i] = -std::numeric_limits<float>::infinity();
    floats greatest = spread(-std::numeric_limits<float>::infinity());
    for (long i = 0; i < length; i += LANES) {
        floats value = load<floats>(row + i);
        greatest = value > greatest ? value : greatest;
    }
    float maximum = greatest[0];
    for (int lane = 1; lane < LANES; lane++) maximum = greatest[lane] > maximum ? greatest[lane] : maximum;
    floats total = {};
    for (long i = 0; i < length; i += LANES) {
        floats value = exponential(load<floats>(row + i) - maximum);
        total += value;
        store(row + i, value);
    }
    return 1.0f / sum(total);
}

static void look(const Span& span, const Shape& s, long layer, const float* qkv, const float* cosine,
                 const float* sine, long first, int head, float* out) {
    static thread_local std::vector<float> queries, seen, found;
    const int share = s.heads / s.kv_heads, dim = s.head_dim;
    const int tokens = int(span.rows - first < TOKENS_AN_ITEM ? span.rows - first : TOKENS_AN_ITEM);
    const int rows = tokens * share;
    const long own = span.before + first + tokens, length = span.prefix + own;
    // Room for whole groups past the end of either segment, and for whole vectors.
    const long stride = (length + 4 * GROUP - 1) / GROUP * GROUP, padded = (length + GROUP - 1) / GROUP * GROUP;
    queries.resize(size_t(rows) * dim);
    found.resize(size_t(rows) * dim);
    seen.resize(size_t(rows) * stride);
    const float scale = 1.0f / std::sqrt(float(dim));
    for (int r = 0; r < rows; r++) {
        long row = span.row + first + r / share, half = dim / 2;
        float* query = &queries[size_t(r) * dim];
        rotate(qkv + (row * (s.heads + 2 * s.kv_heads) + head * share + r % share) * dim, cosine + row * half,
               sine + row * half, int(half), query);
        for (int i = 0; i < dim; i++) query[i] *= scale;
    }
    const long plane = (layer * s.kv_heads + head) * span.capacity * dim;
    const long shared = (layer * s.kv_heads + head) * span.prefix_capacity * dim;
    if (span.prefix) scores(queries.data(), rows, dim, span.prefix_keys + shared, span.prefix, seen.data(), stride);
    scores(queries.data(), rows, dim, span.keys + plane, own, seen.data() + span.prefix, stride);
    float inverse[TOKENS_AN_ITEM * 64];
    for (int r = 0; r < rows; r++)
        inverse[r] = soften(&seen[size_t(r) * stride], span.prefix + span.before + first + r / share + 1, padded);
    if (span.prefix)
        gather(seen.data(), stride, rows, dim, span.prefix_values + shared, span.prefix, found.data(), false);
    gather(seen.data() + span.prefix, stride, rows, dim, span.values + plane, own, found.data(), span.prefix > 0);
    for (int r = 0; r < rows; r++) {
        float* to = out + ((span.row + first + r / share) * s.heads + head * share + r % share) * dim;
        for (int i = 0; i < dim; i++) to[i] = found[size_t(r) * dim + i] * inverse[r];
    }
}

// qkv (rows, (heads + 2 * kv_heads) * head_dim) before rotation; cosine, sine (rows, head_dim / 2). Stores the keys
// and values of all spans, then writes out (rows, heads * head_dim). heads / kv_heads is at most 64.
extern "C" void attend(const float* qkv, const float* cosine, const float* sine, const Span* spans, int count,
                       const Shape* shape, int layer, float* out) {
    struct Item {
        const Span* span;
        long first;
    };
    static thread_local std::vector<Item> items;
    items.clear();
    for (int i = 0; i < count; i++)
        for (long first = 0; first < spans[i].rows; first += TOKENS_AN_ITEM) items.push_back({spans + i, first});
    const std::vector<Item>& list = items;
    Pool::shared().loop(int(list.size()), [&](int i) {
        const Item& item = list[i];
        for (long token = item.first; token < item.span->rows && token < item.first + TOKENS_AN_ITEM; token++)
            remember(*item.span, *shape, layer, qkv, cosine, sine, token);
    });
    // The longest rows come last in a span: begin with them, so that no thread ends alone with one.
    const int heads = shape->kv_heads, total = int(list.size()) * heads;
    Pool::shared().loop(total, [&](int i) {
        const Item& item = list[(total - 1 - i) / heads];
        look(*item.span, *shape, layer, qkv, cosine, sine, item.first, i % heads, out);
    });
}

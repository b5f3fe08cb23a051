// Vectors as wide as the CPU has them, float16 scales, and exp.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANES 16
#define TILE_ROWS 12
#define TILE_GROUPS 2
#elif defined(__AVX__)
#define LANES 8
#define TILE_ROWS 6
#define TILE_GROUPS 1
#else
#define LANES 4
#define TILE_ROWS 2
#define TILE_GROUPS 1
#endif

// A group is 16 output rows whose weights stand side by side; it is as many vectors as the CPU needs for it.
constexpr int GROUP = 16;
constexpr int VECTORS = GROUP / LANES;

typedef float floats __attribute__((vector_size(LANES * 4)));
typedef int32_t ints __attribute__((vector_size(LANES * 4)));
typedef uint8_t bytes __attribute__((vector_size(LANES)));
typedef int8_t signed_bytes __attribute__((vector_size(LANES)));

template <typename V, typename T>
inline V load(const T* from) {
    V value;
    std::memcpy(&value, from, sizeof(V));
    return value;
}

inline void store(float* to, floats value) { std::memcpy(to, &value, sizeof(value)); }

inline floats spread(float value) { return value - floats{}; }

inline float half_to_float(uint16_t half) {
    uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = (half >> 10) & 31, mantissa = half & 1023, bits;
    if (exponent == 31) bits = sign | 0x7f800000 | (mantissa << 13);
    else if (exponent) bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
    else {
        // Subnormal halves are exact multiples of 2^-24.
        float value = float(mantissa) * 5.9604644775390625e-8f;
        return sign ? -value : value;
    }
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

inline floats load_halves(const uint8_t* from) {
#if defined(__AVX512F__)
    return (floats)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)from));
#elif defined(__F16C__) && LANES == 8
    return (floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from));
#else
    floats value;
    for (int lane = 0; lane < LANES; lane++) {
        uint16_t half;
        std::memcpy(&half, from + 2 * lane, 2);
        value[lane] = half_to_float(half);
    }
    return value;
#endif
}

// Bytes as integers; by intrinsics, since GCC 12 takes vector conversions from bytes apart lane by lane.
inline ints widen(const uint8_t* from) {
#if defined(__AVX512F__)
    return (ints)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)from));
#elif defined(__AVX2__)
    return (ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)from));
#else
    return __builtin_convertvector(load<bytes>(from), ints);
#endif
}

inline ints widen_signed(const uint8_t* from) {
#if defined(__AVX512F__)
    return (ints)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)from));
#elif defined(__AVX2__)
    return (ints)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from));
#else
    return __builtin_convertvector(load<signed_bytes>(from), ints);
#endif
}

inline float sum(floats value) {
    float total = 0;
    for (int lane = 0; lane < LANES; lane++) total += value[lane];
    return total;
}

// e^x within 2 units in the last place; 0 below -87 (also for -inf), saturated above 88. Cody and Waite's
// reduction by ln 2 in two parts, then the Taylor polynomial on [-ln 2 / 2, ln 2 / 2].
inline floats exponential(floats x) {
    const floats low = spread(-87.0f), high = spread(88.0f);
    ints vanishes = x < low;
    x = x < low ? low : x;
    x = x > high ? high : x;
    const float magic = 12582912.0f;
    floats whole = (x * 1.44269504088896341f + magic) - magic;
    floats r = x - whole * 0.693359375f;
    r = r - whole * -2.12194440e-4f;
    floats p = spread(1.0f / 5040);
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    ints exponent = (__builtin_convertvector(whole, ints) + 127) << 23;
    floats scale;
    std::memcpy(&scale, &exponent, sizeof(scale));
    floats value = p * scale;
    return vanishes ? floats{} : value;
}

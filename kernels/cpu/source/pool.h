// Threads that wait for the next loop. Items are handed out one by one and the loop ends with its last item, so
// a thread that another process holds up delays nothing but the item it is on. No result depends on which thread
// computed it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

class Pool {
  public:
    static Pool& shared() {
        // Never destroyed: its threads wait for work until the process ends.
        static Pool* pool = new Pool;
        return *pool;
    }

    void resize(int threads) {
        std::lock_guard<std::mutex> lock(mutex_);
        limit_.store(threads - 1);
        for (; workers_ < threads - 1; workers_++) std::thread([this, index = workers_] { serve(index); }).detach();
    }

    // Calls body(item) for every item in [0, count), on all threads, and returns when all are done.
    template <typename Body>
    void loop(int64_t count, const Body& body) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (limit_.load() < 1 || count < 2 || count >= ITEMS) {
            for (int64_t item = 0; item < count; item++) body(int(item));
            return;
        }
        body_ = [&body](int item) { body(item); };
        done_.store(0);
        // One word holds the count and the next item, so that nobody reads one of this loop and one of another.
        ticket_.store(uint64_t(count) << 32, std::memory_order_release);
        generation_.fetch_add(1);
        generation_.notify_all();
        work();
        for (int turn = 0; done_.load(std::memory_order_acquire) != count; turn++)
            if (turn < SPINS) pause();
            else std::this_thread::yield();
    }

  private:
    static constexpr int SPINS = 4000;
    static constexpr int64_t ITEMS = 1 << 30;

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    // An item below the count keeps the loop open until it is done, so body_ is that loop's.
    void work() {
        for (;;) {
            uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
            uint32_t item = uint32_t(ticket), count = uint32_t(ticket >> 32);
            if (item >= count) return;
            body_(int(item));
            done_.fetch_add(1, std::memory_order_release);
        }
    }

    void serve(int index) {
        for (unsigned seen = 0;;) {
            for (int turn = 0; turn < SPINS && generation_.load() == seen; turn++) pause();
            generation_.wait(seen);
            seen = generation_.load();
            if (index < limit_.load()) work();
        }
    }

    std::mutex mutex_;
    int workers_ = 0;
    std::function<void(int)> body_;
    std::atomic<int> limit_{0};
    std::atomic<int64_t> done_{0};
    std::atomic<uint64_t> ticket_{0};
    std::atomic<unsigned> generation_{0};
};

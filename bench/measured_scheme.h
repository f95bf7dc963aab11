#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "blindfl/he/keys.h"
#include "blindfl/he/scheme.h"
#include "timing.h"

namespace blindfl::bench {

/// What a scheme does for a product. Prepared: fresh randomness that no product is known for yet.
enum class ProductWork { kPrepare, kEncrypt, kLoad, kMultiply, kOpen };

/// Adds up the processor time that a scheme takes, without what its sources and sinks take: those are the link.
class ProductClock {
 public:
  /// Rows, inner, columns; none of what is prepared.
  using Shape = std::array<std::size_t, 3>;

  class Running {
   public:
    explicit Running(ProductClock& clock) : clock_(clock) {}
    Running(ProductClock& clock, ProductWork work, const he::Plan& plan)
        : clock_(clock), work_(work), shape_{plan.spec().rows, plan.spec().inner, plan.spec().cols} {}
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { clock_.add(work_, shape_, cpu_seconds() - start_ - elsewhere_); }
    void leave() { left_ = cpu_seconds(); }
    void come_back() { elsewhere_ += cpu_seconds() - left_; }

   private:
    ProductClock& clock_;
    ProductWork work_ = ProductWork::kPrepare;
    Shape shape_{};
    double start_ = cpu_seconds();
    double left_ = 0;
    double elsewhere_ = 0;
  };
  [[nodiscard]] double seconds() const { return static_cast<double>(total_) * 1e-9; }
  /// Of one kind of work, for products of that shape.
  [[nodiscard]] double seconds(ProductWork work, const Shape& shape = {}) const {
    const std::lock_guard lock(mutex_);
    const auto found = parts_.find({work, shape});
    return found == parts_.end() ? 0 : found->second;
  }

 private:
  void add(ProductWork work, const Shape& shape, double seconds) {
    total_ += static_cast<std::int64_t>(seconds * 1e9);
    const std::lock_guard lock(mutex_);
    parts_[{work, shape}] += seconds;
  }

  std::atomic<std::int64_t> total_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<ProductWork, Shape>, double> parts_;
};

class MeasuredSink final : public ByteSink {
 public:
  MeasuredSink(ByteSink& inner, ProductClock::Running& running) : inner_(inner), running_(running) {}
  void write(ByteView bytes) override {
    running_.leave();
    inner_.write(bytes);
    running_.come_back();
  }

 private:
  ByteSink& inner_;
  ProductClock::Running& running_;
};

class MeasuredSource final : public ByteSource {
 public:
  MeasuredSource(ByteSource& inner, ProductClock::Running& running) : inner_(inner), running_(running) {}
  void read(std::span<std::byte> out) override {
    running_.leave();
    inner_.read(out);
    running_.come_back();
  }
  [[nodiscard]] std::uint64_t remaining() const override { return inner_.remaining(); }

 private:
  ByteSource& inner_;
  ProductClock::Running& running_;
};

class MeasuredKeyOwner final : public he::KeyOwner {
 public:
  MeasuredKeyOwner(std::unique_ptr<he::KeyOwner> inner, ProductClock& clock)
      : inner_(std::move(inner)), clock_(clock) {}
  [[nodiscard]] Bytes public_key() const override { return inner_->public_key(); }
  void expect(const he::Plan& plan) const override { inner_->expect(plan); }
  bool prepare() const override {
    const ProductClock::Running running(clock_);
    return inner_->prepare();
  }

 private:
  void do_encrypt(const he::Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                  ByteSink& out) const override {
    ProductClock::Running running(clock_, ProductWork::kEncrypt, plan);
    MeasuredSink sink(out, running);
    inner_->encrypt(plan, m, random, pool, sink);
  }
  [[nodiscard]] ShareMatrix do_open(const he::Plan& plan, ByteSource& reply, Random& random,
                                    ThreadPool& pool) const override {
    ProductClock::Running running(clock_, ProductWork::kOpen, plan);
    MeasuredSource source(reply, running);
    return inner_->open(plan, source, random, pool);
  }
  std::unique_ptr<he::KeyOwner> inner_;
  ProductClock& clock_;
};

class MeasuredMultiplier final : public he::Multiplier {
 public:
  MeasuredMultiplier(std::unique_ptr<he::Multiplier> inner, ProductClock& clock)
      : inner_(std::move(inner)), clock_(clock) {}
  void expect(const he::Plan& plan) const override { inner_->expect(plan); }
  bool prepare() const override {
    const ProductClock::Running running(clock_);
    return inner_->prepare();
  }

 private:
  [[nodiscard]] std::unique_ptr<const he::Operand> do_load(const he::Plan& plan, ByteSource& in,
                                                           ThreadPool& pool) const override {
    ProductClock::Running running(clock_, ProductWork::kLoad, plan);
    MeasuredSource source(in, running);
    return inner_->load(plan, source, pool);
  }
  [[nodiscard]] std::unique_ptr<const he::LeftMatrix> do_prepare_left(const he::Plan& plan, const IntMatrix& x,
                                                                      ThreadPool& pool) const override {
    const ProductClock::Running running(clock_, ProductWork::kMultiply, plan);
    return inner_->prepare_left(plan, x, pool);
  }
  [[nodiscard]] ShareMatrix do_multiply_prepared(const he::Plan& plan, const he::LeftMatrix& left,
                                                 const he::Operand& operand, Random& random, ThreadPool& pool,
                                                 ByteSink& reply) const override {
    ProductClock::Running running(clock_, ProductWork::kMultiply, plan);
    MeasuredSink sink(reply, running);
    return inner_->multiply_prepared(plan, left, operand, random, pool, sink);
  }
  [[nodiscard]] ShareMatrix do_multiply(const he::Plan& plan, const IntMatrix& x, const he::Operand& operand,
                                        Random& random, Random& masks, ThreadPool& pool,
                                        ByteSink& reply) const override {
    ProductClock::Running running(clock_, ProductWork::kMultiply, plan);
    MeasuredSink sink(reply, running);
    return inner_->multiply(plan, x, operand, random, masks, pool, sink);
  }
  std::unique_ptr<he::Multiplier> inner_;
  ProductClock& clock_;
};

/// A scheme whose processor time is measured, over all its keys. With one thread per party it is all there is.
class MeasuredScheme final : public he::Scheme {
 public:
  MeasuredScheme(std::unique_ptr<he::Scheme> inner, ProductClock& clock) : inner_(std::move(inner)), clock_(clock) {}
  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] std::string parameters() const override { return inner_->parameters(); }
  [[nodiscard]] std::vector<std::string> key_sets() const override { return inner_->key_sets(); }
  [[nodiscard]] bool repeats_messages() const override { return inner_->repeats_messages(); }
  [[nodiscard]] std::uint64_t public_key_bytes(const std::string& key_set) const override {
    return inner_->public_key_bytes(key_set);
  }
  [[nodiscard]] std::unique_ptr<he::KeyOwner> generate_keys(const he::KeySetup& setup, Random& random) const override {
    return std::make_unique<MeasuredKeyOwner>(inner_->generate_keys(setup, random), clock_);
  }
  [[nodiscard]] std::unique_ptr<he::Multiplier> multiplier(const he::KeySetup& setup,
                                                           ByteView public_key) const override {
    return std::make_unique<MeasuredMultiplier>(inner_->multiplier(setup, public_key), clock_);
  }

 private:
  [[nodiscard]] std::shared_ptr<const he::Plan> do_plan(const he::ProductSpec& spec) const override {
    return inner_->plan(spec);
  }
  std::unique_ptr<he::Scheme> inner_;
  ProductClock& clock_;
};

}  // namespace blindfl::bench

#include "blindfl/he/lattice/left_operand.h"

#include <algorithm>
#include <limits>

namespace blindfl::he::lattice {

namespace {

constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();

}  // namespace

LeftOperand::LeftOperand(const Params& params, const Kernels& kernels, const Tiling& tiling, const IntMatrix& x,
                         std::size_t first_row_tile, std::size_t row_tiles, ThreadPool& pool, ScratchPool& scratch)
    : params_(params),
      kernels_(kernels),
      tiling_(tiling),
      first_row_tile_(first_row_tile),
      together_(tiling.repeats() == 1 ? 1 : 8),
      count_(params.degree() / tiling.repeats()),
      apart_(tiling.cols / tiling.repeats()),
      bound_(x.bound()),
      shared_(std::max<std::size_t>(tiling.repeats() / kBlock, 1)),
      blocks_(params.degree() / kBlock / shared_),
      stride_(kBlock * shared_ / tiling.repeats()),
      runs_(row_tiles),
      slots_(row_tiles),
      first_slot_(row_tiles) {
  places_.reserve(x.cols());
  for (std::size_t j = 0; j < x.cols(); ++j) {
    places_.push_back({static_cast<std::uint32_t>(j / tiling.inner), static_cast<std::uint32_t>(j % tiling.inner)});
  }
  pool.parallel_for(row_tiles, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row_tile = begin; row_tile < end; ++row_tile) find_tiles(row_tile, x);
  });
  for (std::size_t row_tile = 0; row_tile < row_tiles; ++row_tile) {
    first_slot_[row_tile] = all_slots_;
    all_slots_ += (used_slots(row_tile) + together_ - 1) / together_ * together_;
  }
  const std::size_t size = params.moduli().size() * blocks_ * all_slots_ * stride_;
  lease_.emplace(scratch.lease(size));
  values_ = lease_->take(size);
  auto lease = scratch.lease(all_slots_ * count_);
  const auto entries = lease.take_signed(all_slots_ * count_);
  const auto entries_of = [&](std::size_t row_tile) {
    const std::size_t end = row_tile + 1 < row_tiles ? first_slot_[row_tile + 1] : all_slots_;
    return entries.subspan(first_slot_[row_tile] * count_, (end - first_slot_[row_tile]) * count_);
  };
  pool.parallel_for(row_tiles, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row_tile = begin; row_tile < end; ++row_tile) cut(row_tile, x, entries_of(row_tile));
  });
  const std::size_t moduli = params.moduli().size();
  pool.parallel_for(row_tiles * moduli, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      transform(i / moduli, i % moduli, entries_of(i / moduli), scratch);
    }
  });
}

template <class F>
void LeftOperand::for_each_entry(const IntMatrix& x, std::size_t row_tile, F&& f) const {
  const std::size_t begin = (first_row_tile_ + row_tile) * tiling_.rows;
  const std::size_t end = std::min(x.rows(), begin + tiling_.rows);
  for (std::size_t r = begin; r < end; ++r) {
    x.for_each_in_row(r, [&](std::size_t c, std::int64_t value) { f(r - begin, c, value); });
  }
}

std::size_t LeftOperand::used_slots(std::size_t row_tile) const {
  const auto& runs = runs_[row_tile];
  return runs.empty() ? 0 : runs.back().first_slot + runs.back().count;
}

void LeftOperand::find_tiles(std::size_t row_tile, const IntMatrix& x) {
  auto& slots = slots_[row_tile];
  slots.assign(tiling_.inner_tiles, x.kind() == IntMatrix::Kind::kDense ? 0 : kNoSlot);
  if (x.kind() != IntMatrix::Kind::kDense)
    for_each_entry(x, row_tile,
                   [&](std::size_t /*row*/, std::size_t c, std::int64_t /*value*/) { slots[places_[c].tile] = 0; });
  auto& runs = runs_[row_tile];
  std::uint32_t next = 0;
  for (std::size_t tile = 0; tile < slots.size(); ++tile) {
    if (slots[tile] == kNoSlot) continue;
    if (tile > 0 && slots[tile - 1] != kNoSlot) {
      ++runs.back().count;
    } else {
      runs.push_back({tile, next, 1});
    }
    slots[tile] = next++;
  }
}

/// Entries of the row's tiles: `together_` slots side by side, coefficient after coefficient.
void LeftOperand::cut(std::size_t row_tile, const IntMatrix& x, std::span<std::int64_t> entries) const {
  std::fill(entries.begin(), entries.end(), 0);
  const auto& slots = slots_[row_tile];
  for_each_entry(x, row_tile, [&](std::size_t row, std::size_t c, std::int64_t value) {
    const std::size_t last = row * tiling_.inner + tiling_.inner - 1;
    const Place place = places_[c];
    const std::size_t slot = slots[place.tile];
    const std::size_t position = apart_ * (last - place.column);
    entries[(slot / together_ * count_ + position) * together_ + slot % together_] = value;
  });
}

void LeftOperand::transform(std::size_t row_tile, std::size_t modulus, std::span<const std::int64_t> entries,
                            ScratchPool& scratch) {
  const Modulus& m = params_.moduli()[modulus];
  const std::size_t size = together_ * count_;
  const bool in_order = together_ == 1 || stride_ == 1;
  auto lease = scratch.lease(size);
  const auto memory = lease.take(size);
  for (std::size_t g = 0; g * size < entries.size(); ++g) {
    const std::size_t first_slot = first_slot_[row_tile] + g * together_;
    // One group alone is in memory while it is transformed.
    const bool in_place = in_order && all_slots_ == together_;
    std::uint64_t* residues = in_place ? values_.data() + offset(modulus, 0, 0) : memory.data();
    (bound_ < m.value() ? kernels_.lift : kernels_.lift_wide)(residues, entries.data() + g * size, size, m);
    if (together_ == 1) {
      kernels_.forward(residues, m);
    } else {
      kernels_.forward_short(residues, count_, m);
    }
    if (in_place) continue;
    for (std::size_t block = 0; block < blocks_; ++block) {
      std::uint64_t* to = values_.data() + offset(modulus, block, first_slot);
      const std::uint64_t* from = residues + block * stride_ * together_;
      if (in_order) {
        std::copy_n(from, together_ * stride_, to);
        continue;
      }
      for (std::size_t slot = 0; slot < together_; ++slot) {
        for (std::size_t i = 0; i < stride_; ++i) to[slot * stride_ + i] = from[i * together_ + slot];
      }
    }
  }
}

}  // namespace blindfl::he::lattice

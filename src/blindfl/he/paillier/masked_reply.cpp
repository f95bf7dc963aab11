#include "blindfl/he/paillier/masked_reply.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/base/secret.h"
#include "blindfl/he/paillier/unit_costs.h"

namespace blindfl::he::paillier {

namespace {

constexpr std::size_t kLanes = 8;  // of the kernels that costs were measured with

/// Packing takes squarings of one party, and saves randomness and decryptions.
std::size_t best_rows_per_ciphertext(const ReplyLayout& layout, int key_bits) {
  const UnitCosts cost = UnitCosts::of(key_bits);
  const double shift = cost.square * static_cast<double>(layout.cols_per_group) * layout.slots.width() + cost.multiply;
  std::size_t best = 1;
  double least = 0;
  for (std::size_t k = 1; k <= layout.slots.count() / layout.cols_per_group; ++k) {
    const std::size_t ciphertexts = (layout.rows + k - 1) / k * layout.groups;
    const std::size_t filled = (ciphertexts + kLanes - 1) / kLanes * kLanes;
    const double total =
        static_cast<double>(filled) * (static_cast<double>(k - 1) * shift + cost.randomize + cost.decrypt);
    if (k > 1 && total >= least) continue;
    least = total;
    best = k;
  }
  return best;
}

/// Where in a reply a value stands.
struct Place {
  std::size_t ciphertext;
  std::size_t slot;
};

Place place_of(const ReplyLayout& layout, std::size_t row, std::size_t col) {
  const std::size_t packed = row / layout.rows_per_ciphertext;
  const std::size_t within = row % layout.rows_per_ciphertext;
  return {packed * layout.groups + col / layout.cols_per_group,
          within * layout.cols_per_group + col % layout.cols_per_group};
}

std::size_t used_slots(const ReplyLayout& layout) {
  return layout.rows_per_ciphertext * layout.cols_per_group;
}

/// Rows side by side: the last of each pack, shifted by the width of a row, plus the one before it, and so on.
void pack_rows(const ReplyLayout& layout, const CryptoTensor& values, std::size_t begin, std::size_t end,
               Rows& packed) {
  const Ring& ring = values.key().ring();
  const std::size_t shift = static_cast<std::size_t>(layout.slots.width()) * layout.cols_per_group;
  const auto source = [&](std::size_t ciphertext, std::size_t within) -> const Limb* {
    const std::size_t row = ciphertext / layout.groups * layout.rows_per_ciphertext + within;
    const Limb* limbs = row < layout.rows ? values.find(row) : nullptr;
    return limbs == nullptr ? ring.one() : limbs + ciphertext % layout.groups * ring.stride();
  };
  std::vector<Ring::Row> squares;
  std::vector<Ring::Product> products;
  for (std::size_t i = begin; i < end; ++i) {
    std::copy_n(source(i, layout.rows_per_ciphertext - 1), ring.stride(), packed[i]);
    squares.push_back({packed[i], packed[i]});
  }
  for (std::size_t within = layout.rows_per_ciphertext - 1; within-- > 0;) {
    products.clear();
    for (std::size_t i = begin; i < end; ++i) products.push_back({packed[i], packed[i], source(i, within)});
    ring.square(squares, shift);
    ring.multiply(products);
  }
}

/// Uniform below 2^bits, each.
Integers random_masks(std::size_t count, int bits, Random& random) {
  const std::size_t bytes = (static_cast<std::size_t>(bits) + 7) / 8;
  SecretVector<std::byte> raw(count * bytes);
  random.fill(raw);
  Integers masks(count);
  for (std::size_t i = 0; i < count; ++i) {
    mpz_import(masks[i], bytes, -1, 1, 0, 0, raw.data() + i * bytes);
    mpz_fdiv_r_2exp(masks[i], masks[i], static_cast<mp_bitcnt_t>(bits));
  }
  return masks;
}

}  // namespace

ReplyLayout::ReplyLayout(const Params& params, std::size_t row_count, std::size_t col_count, int bits, int hiding)
    : rows(row_count),
      cols(col_count),
      slots(params.plaintext_bits(), slot_bits(bits, hiding)),
      value_bits(bits),
      mask_bits(bits + hiding) {
  const CryptoShape shape{rows, cols, slots};
  groups = shape.groups();
  cols_per_group = shape.cols_per_group();
  rows_per_ciphertext = best_rows_per_ciphertext(*this, params.key_bits());
}

Integers write_masked(const ReplyLayout& layout, const CryptoTensor& values, Randomizers& randomizers, Random& random,
                      Random& masks, ThreadPool& pool, ByteSink& out) {
  require<InvalidArgument>(values.shape().slots == layout.slots && values.shape().rows == layout.rows &&
                               values.shape().cols == layout.cols && values.shape().bits <= layout.value_bits,
                           "an encrypted product does not fit the reply it is to travel in");
  const PublicKey& key = values.key();
  const std::size_t count = layout.ciphertexts();
  Rows packed(key.ring(), count);
  Rows fresh(key.ring(), count);
  std::vector<Limb*> targets;
  std::vector<const Limb*> results;
  for (std::size_t i = 0; i < count; ++i) targets.push_back(fresh[i]);
  for (std::size_t i = 0; i < count; ++i) results.push_back(packed[i]);
  randomizers.take(targets, random, pool);

  // A mask for every slot, also for those without a value.
  const std::size_t used = used_slots(layout);
  const Integers by_slot = random_masks(count * used, randomizers.masks() ? layout.mask_bits : 0, masks);
  Integers by_value(layout.rows * layout.cols);
  for (std::size_t r = 0; r < layout.rows; ++r) {
    for (std::size_t c = 0; c < layout.cols; ++c) {
      const Place place = place_of(layout, r, c);
      by_value[r * layout.cols + c] = by_slot[place.ciphertext * used + place.slot];
    }
  }
  pool.parallel_for(count, kLanes, [&](std::size_t begin, std::size_t end) {
    pack_rows(layout, values, begin, end, packed);
    Integers plaintexts;
    std::vector<Ring::Product> products;
    std::vector<Limb*> rows;
    for (std::size_t i = begin; i < end; ++i) {
      plaintexts.push_back(layout.slots.pack(std::span(by_slot).subspan(i * used, used)));
      products.push_back({packed[i], packed[i], fresh[i]});
      rows.push_back(packed[i]);
    }
    key.ring().multiply(products);
    key.add(rows, plaintexts);
  });
  key.write(results, out, pool);
  return by_value;
}

Integers open_masked(const ReplyLayout& layout, const SecretKey& key, ByteSource& in, ThreadPool& pool) {
  const std::size_t bytes = key.public_key().ring().row_bytes();
  Bytes ciphertexts(layout.ciphertexts() * bytes);
  in.read(ciphertexts);
  std::vector<Integers> by_slot(layout.ciphertexts(), Integers(used_slots(layout)));
  pool.parallel_for(layout.ciphertexts(), kLanes, [&](std::size_t begin, std::size_t end) {
    Integers plaintexts(end - begin);
    key.decrypt(ByteView(ciphertexts).subspan(begin * bytes, (end - begin) * bytes), plaintexts);
    for (std::size_t i = begin; i < end; ++i) {
      require<ProtocolError>(layout.slots.unpack(plaintexts[i - begin], by_slot[i]),
                             "a masked product is larger than it can be");
    }
  });
  const BigInt least = BigInt(0) - BigInt::power_of_two(static_cast<std::size_t>(layout.value_bits));
  const BigInt most = BigInt::power_of_two(static_cast<std::size_t>(layout.mask_bits)) - least;
  Integers values(layout.rows * layout.cols);
  for (std::size_t r = 0; r < layout.rows; ++r) {
    for (std::size_t c = 0; c < layout.cols; ++c) {
      const Place place = place_of(layout, r, c);
      BigInt& value = by_slot[place.ciphertext][place.slot];
      require<ProtocolError>(value >= least && value < most, "a masked product is larger than it can be");
      values[r * layout.cols + c] = std::move(value);
    }
  }
  return values;
}

}  // namespace blindfl::he::paillier

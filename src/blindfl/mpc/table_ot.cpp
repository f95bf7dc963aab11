#include "blindfl/mpc/table_ot.h"

#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::mpc {

namespace {

using Words = SecretVector<std::uint32_t>;

const TableShape& checked(const TableShape& shape) {
  require<InvalidArgument>(
      shape.index_bits >= 1 && shape.index_bits <= 4 && shape.entry_bits >= 1 && shape.entry_bits <= 2,
      "tables: an index of 1 to 4 bits and entries of 1 or 2, not ", shape.index_bits, " and ", shape.entry_bits);
  return shape;
}

std::uint32_t table_mask(const TableShape& shape) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << shape.word_bits()) - 1);
}

std::uint32_t entry_mask(const TableShape& shape) {
  return (std::uint32_t{1} << shape.entry_bits) - 1;
}

/// The places whose index has bit j set.
std::uint32_t places_with(const TableShape& shape, int j) {
  std::uint32_t mask = 0;
  for (std::size_t v = 0; v < shape.entries(); ++v) {
    if ((v >> j & 1) != 0) mask |= entry_mask(shape) << (v * static_cast<std::size_t>(shape.entry_bits));
  }
  return mask;
}

std::uint32_t low_word(const ot::Block& block) {
  return static_cast<std::uint32_t>(block.low);
}

/// Words of `bits` bits, a power of two up to 32, one after the other, lowest first.
void write_words(std::span<const std::uint32_t> words, std::size_t bits, ByteSink& out) {
  if (bits == 32) return out.write(std::as_bytes(words));
  SecretVector<std::byte> bytes(bytes_for_bits(words.size() * bits));
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (bits == 16) {
      bytes[2 * i] = static_cast<std::byte>(words[i]);
      bytes[2 * i + 1] = static_cast<std::byte>(words[i] >> 8);
    } else {
      bytes[i * bits / 8] |= static_cast<std::byte>(words[i] << (i * bits % 8));
    }
  }
  out.write(bytes);
}

Words read_words(ByteSource& in, std::size_t count, std::size_t bits) {
  Words words(count);
  if (bits == 32) {
    in.read(std::as_writable_bytes(std::span(words)));
    return words;
  }
  SecretVector<std::byte> bytes(bytes_for_bits(count * bits));
  in.read(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    if (bits == 16) {
      words[i] = std::to_integer<std::uint32_t>(bytes[2 * i]) | std::to_integer<std::uint32_t>(bytes[2 * i + 1]) << 8;
    } else {
      const auto byte = std::to_integer<std::uint32_t>(bytes[i * bits / 8]);
      words[i] = byte >> (i * bits % 8) & ((std::uint32_t{1} << bits) - 1);
    }
  }
  const std::size_t used = count * bits % 8;
  require<ProtocolError>(used == 0 || std::to_integer<std::uint32_t>(bytes.back()) >> used == 0,
                         "the peer's tables: a bit behind the last is set");
  return words;
}

}  // namespace

TableSender::TableSender(const TableShape& shape, std::size_t count, ot::RandomOtSender& pool)
    : shape_(checked(shape)), pads_(count) {
  for (int j = 0; j < shape.index_bits; ++j) {
    const std::uint32_t where_one = places_with(shape, j);
    pool.take_pieces(count, [&](const ot::SenderPiece& piece) {
      std::uint32_t* const pads = pads_.data() + piece.first;
      for (std::size_t i = 0; i < piece.zero.size(); ++i) {
        const std::uint32_t zero = low_word(piece.zero[i]);
        pads[i] ^= zero ^ ((zero ^ low_word(piece.one[i])) & where_one);
      }
    });
  }
}

void TableSender::encrypt(std::span<const std::uint32_t> shifts, std::span<const std::uint32_t> tables, ByteSink& out) {
  require<InvalidArgument>(shifts.size() == pads_.size() && tables.size() == pads_.size(), "tables: pads for ",
                           pads_.size(), " are left, for ", tables.size(), " tables and ", shifts.size(), " shifts");
  Words words = std::exchange(pads_, {});
  for (int j = 0; j < shape_.index_bits; ++j) {
    const int distance = shape_.entry_bits << j;
    const std::uint32_t lower = ~places_with(shape_, j) & table_mask(shape_);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint32_t swap = lower & (0 - (shifts[i] >> j & 1));
      const std::uint32_t moved = (words[i] >> distance ^ words[i]) & swap;
      words[i] ^= moved ^ moved << distance;
    }
  }
  // What the pads have beyond the table the receiver may know: it must not meet anything of the sender's, nor travel.
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = (words[i] ^ tables[i]) & table_mask(shape_);
  write_words(words, shape_.word_bits(), out);
}

TableReceiver::TableReceiver(const TableShape& shape, std::size_t count, ot::RandomOtReceiver& pool)
    : shape_(checked(shape)), count_(count), pads_(count) {
  for (int j = 0; j < shape.index_bits; ++j) {
    choices_.emplace_back(count, pool.take_pieces(count, [&](const ot::ReceiverPiece& piece) {
      std::uint32_t* const pads = pads_.data() + piece.first;
      for (std::size_t i = 0; i < piece.pads.size(); ++i) pads[i] ^= low_word(piece.pads[i]);
    }));
  }
  const SecretVector<std::uint8_t> index = bytes_of(choices_, count);
  const auto width = static_cast<std::uint32_t>(shape.entry_bits);
  for (std::size_t i = 0; i < count; ++i) pads_[i] = pads_[i] >> (index[i] * width) & entry_mask(shape);
}

void TableReceiver::choose(std::span<const BitShares> index, ByteSink& out) {
  require<InvalidArgument>(!chosen_ && index.size() == choices_.size(), "tables: an index is chosen once, by ",
                           choices_.size(), " planes of bits");
  for (const BitShares& plane : index) {
    require<InvalidArgument>(plane.size() == count_, "tables: ", count_, " indices, not ", plane.size());
  }
  chosen_ = true;
  for (std::size_t j = 0; j < index.size(); ++j) (index[j] ^ choices_[j]).write(out);
  choices_.clear();
}

Words TableReceiver::read(ByteSource& in) const {
  return read_words(in, count_, shape_.word_bits());
}

Words TableReceiver::open(std::span<const std::uint32_t> indices, Words words) {
  require<InvalidArgument>(chosen_ && !opened_ && indices.size() == count_ && words.size() == count_,
                           "tables: entries are opened once, after they were chosen");
  opened_ = true;
  const auto width = static_cast<std::uint32_t>(shape_.entry_bits);
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint32_t at = (indices[i] & static_cast<std::uint32_t>(shape_.entries() - 1)) * width;
    words[i] = ((words[i] >> at) ^ pads_[i]) & entry_mask(shape_);
  }
  pads_.clear();
  return words;
}

}  // namespace blindfl::mpc

#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <memory>

#include "blindfl/base/error.h"
#include "blindfl/base/free_with.h"
#include "blindfl/ot/fold_loop.h"
#include "blindfl/ot/row_loop.h"

namespace blindfl::ot {

namespace {

using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>>;

// An expanded key is a pointer to OpenSSL's: its AES takes no longer or shorter for one key than for another wherever
// the processor has instructions for it, and where it works with vectors.
constexpr std::size_t kContextBytes = sizeof(EVP_CIPHER_CTX*);

Context make_context(const Block& key) {
  Context context(EVP_CIPHER_CTX_new());
  require<Error>(context != nullptr && EVP_EncryptInit_ex(context.get(), EVP_aes_128_ecb(), nullptr,
                                                          reinterpret_cast<const unsigned char*>(&key), nullptr) == 1,
                 "oblivious transfer: the cipher cannot be set up");
  return context;
}

EVP_CIPHER_CTX* context_at(const std::byte* key) {
  EVP_CIPHER_CTX* context = nullptr;
  std::memcpy(&context, key, kContextBytes);
  return context;
}

void release(std::byte* expanded, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) EVP_CIPHER_CTX_free(context_at(expanded + i * kContextBytes));
}

void expand(const Block* keys, std::size_t count, std::byte* expanded) {
  std::vector<Context> contexts;
  contexts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) contexts.push_back(make_context(keys[i]));
  for (std::size_t i = 0; i < count; ++i) {
    EVP_CIPHER_CTX* const context = contexts[i].release();
    std::memcpy(expanded + i * kContextBytes, &context, kContextBytes);
  }
}

void encrypt(const std::byte* key, const Block* in, Block* out, std::size_t count) {
  constexpr std::size_t kAtOnce = kTileOts;
  for (std::size_t done = 0; done < count; done += kAtOnce) {
    const int bytes = static_cast<int>(sizeof(Block) * (count - done < kAtOnce ? count - done : kAtOnce));
    int written = 0;
    const int ok = EVP_EncryptUpdate(context_at(key), reinterpret_cast<unsigned char*>(out + done), &written,
                                     reinterpret_cast<const unsigned char*>(in + done), bytes);
    require<Error>(ok == 1 && written == bytes, "oblivious transfer: the cipher failed");
  }
}

struct OpensslLanes {
  static constexpr std::size_t kKeyBytes = kContextBytes;
  static constexpr std::size_t kBytes = kRowBytes;
  using Piece = std::array<Block, kRowBytes / sizeof(Block)>;
  using Counters = Piece;

  static Piece zero() { return {}; }
  static void add(Piece& sum, const Piece& other) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] ^= other[i];
  }
  static void store(std::byte* out, const Piece& piece) { std::memcpy(out, piece.data(), kBytes); }
  static Counters counters(const Block& counter, std::size_t /*piece*/) {
    Counters counters;
    for (std::size_t i = 0; i < counters.size(); ++i) counters[i] = {counter.low + i, counter.high};
    return counters;
  }
  static void streams(const std::byte* a, const std::byte* b, const Counters& counters, Piece& x, Piece& y) {
    encrypt(a, counters.data(), x.data(), x.size());
    encrypt(b, counters.data(), y.data(), y.size());
  }
};

void hash(const std::byte* key, const Block* in, const Block& offset, Block* out, std::uint64_t first,
          std::size_t count, std::uint64_t domain) {
  constexpr std::size_t kAtOnce = 128;
  std::array<Block, kAtOnce> once;
  for (std::size_t done = 0; done < count; done += kAtOnce) {
    const std::size_t now = count - done < kAtOnce ? count - done : kAtOnce;
    for (std::size_t i = 0; i < now; ++i) once[i] = in[done + i] ^ offset;
    encrypt(key, once.data(), once.data(), now);
    for (std::size_t i = 0; i < now; ++i) out[done + i] = once[i] ^ Block { first + done + i, domain };
    encrypt(key, out + done, out + done, now);
    for (std::size_t i = 0; i < now; ++i) out[done + i] ^= once[i];
  }
  explicit_bzero(once.data(), sizeof once);
}

struct OpensslCipher {
  static void encrypt(const std::byte* key, Block* blocks, std::size_t count) {
    ot::encrypt(key, blocks, blocks, count);
  }
};

/// 8 bytes, byte r row r of a matrix of bits, become its columns: in three steps, exchanging halves of halves.
std::uint64_t transposed_bits(std::uint64_t x) {
  const auto exchange = [&x](int distance, std::uint64_t mask) {
    const std::uint64_t moved = (x ^ x >> distance) & mask;
    x ^= moved ^ moved << distance;
  };
  exchange(7, 0x00AA00AA00AA00AA);
  exchange(14, 0x0000CCCC0000CCCC);
  exchange(28, 0x00000000F0F0F0F0);
  return x;
}

void transpose(const std::byte* rows, Block* out) {
  constexpr std::size_t kGroup = 8;
  auto* const bytes = reinterpret_cast<std::byte*>(out);
  for (std::size_t r = 0; r < kBaseOts; r += kGroup) {
    for (std::size_t c = 0; c < kRowBytes; ++c) {
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < kGroup; ++i) {
        bits |= std::to_integer<std::uint64_t>(rows[(r + i) * kRowBytes + c]) << (8 * i);
      }
      bits = transposed_bits(bits);
      for (std::size_t i = 0; i < kGroup; ++i) {
        bytes[(kGroup * c + i) * sizeof(Block) + r / kGroup] = static_cast<std::byte>(bits >> (8 * i));
      }
    }
  }
}

}  // namespace

const Kernels& portable_kernels() {
  static constexpr Kernels kKernels = {.name = "portable",
                                       .key_bytes = kContextBytes,
                                       .expand = expand,
                                       .release = release,
                                       .encrypt = encrypt,
                                       .fold = FoldLoop<OpensslLanes>::fold,
                                       .transpose = transpose,
                                       .hash = hash,
                                       .grow = RowLoop<OpensslCipher>::grow,
                                       .add_rows = RowLoop<OpensslCipher>::add_rows};
  return kKernels;
}

}  // namespace blindfl::ot

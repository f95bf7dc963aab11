#include "blindfl/base/aes_ctr.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

#include "blindfl/base/error.h"
#include "blindfl/base/free_with.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace blindfl {

namespace {

class OpensslCtr final : public AesCtr {
 public:
  explicit OpensslCtr(std::span<const std::byte, kKeyBytes> key) : cipher_(EVP_CIPHER_CTX_new()) {
    const std::array<unsigned char, 16> counter{};
    require<Error>(cipher_ != nullptr &&
                       EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ctr(), nullptr,
                                          reinterpret_cast<const unsigned char*>(key.data()), counter.data()) == 1,
                   "random stream: the cipher cannot be set up");
  }

  void fill(std::span<std::byte> out) override {
    static constexpr std::array<unsigned char, 16384> kZeros{};
    while (!out.empty()) {
      const auto piece = out.first(std::min(out.size(), kZeros.size()));
      int written = 0;
      const int ok = EVP_EncryptUpdate(cipher_.get(), reinterpret_cast<unsigned char*>(piece.data()), &written,
                                       kZeros.data(), static_cast<int>(piece.size()));
      require<Error>(ok == 1 && written == static_cast<int>(piece.size()), "random stream: the cipher failed");
      out = out.subspan(piece.size());
    }
  }

 private:
  std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>> cipher_;
};

#if defined(__x86_64__)

constexpr std::size_t kRounds = 14;

// FIPS 197, 5.2, for 256-bit keys: each round key is the one two before it, each word added to the next, plus a word
// that `assist` made of the last one.
__attribute__((target("aes,sse4.1"))) inline __m128i next_round_key(__m128i before, __m128i added) {
  before = _mm_xor_si128(before, _mm_slli_si128(before, 4));
  before = _mm_xor_si128(before, _mm_slli_si128(before, 8));
  return _mm_xor_si128(before, added);
}

template <int Constant>
__attribute__((target("aes,sse4.1"))) inline void expand_pair(__m128i* keys, std::size_t i) {
  keys[i] = next_round_key(keys[i - 2], _mm_shuffle_epi32(_mm_aeskeygenassist_si128(keys[i - 1], Constant), 0xFF));
  if (i + 1 > kRounds) return;
  keys[i + 1] = next_round_key(keys[i - 1], _mm_shuffle_epi32(_mm_aeskeygenassist_si128(keys[i], 0), 0xAA));
}

// Clang 14 knows no __builtin_cpu_supports("vaes").
bool has_vaes() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c >> 9 & 1) != 0;
}

class VaesCtr final : public AesCtr {
 public:
  static bool supported() {
    // Asked once: in a virtual machine each question takes microseconds.
    static const bool answer =
        __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 && has_vaes();
    return answer;
  }

  __attribute__((target("aes,sse4.1"))) explicit VaesCtr(std::span<const std::byte, kKeyBytes> key) {
    __m128i keys[kRounds + 1];
    std::memcpy(keys, key.data(), kKeyBytes);
    expand_pair<0x01>(keys, 2);
    expand_pair<0x02>(keys, 4);
    expand_pair<0x04>(keys, 6);
    expand_pair<0x08>(keys, 8);
    expand_pair<0x10>(keys, 10);
    expand_pair<0x20>(keys, 12);
    expand_pair<0x40>(keys, 14);
    std::memcpy(round_keys_.data(), keys, sizeof keys);
    explicit_bzero(keys, sizeof keys);
  }
  VaesCtr(const VaesCtr&) = delete;
  VaesCtr& operator=(const VaesCtr&) = delete;
  ~VaesCtr() override { explicit_bzero(round_keys_.data(), round_keys_.size()); }

  __attribute__((target("aes,vaes,avx512f,avx512bw"))) void fill(std::span<std::byte> out) override {
    __m512i keys[kRounds + 1];
    for (std::size_t i = 0; i <= kRounds; ++i) {
      __m128i key;
      std::memcpy(&key, round_keys_.data() + 16 * i, sizeof key);
      keys[i] = _mm512_broadcast_i32x4(key);
    }
    // Counters are 128-bit numbers, highest byte first; no stream is long enough for more than the lower half.
    const __m512i swap = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 15, 14, 13, 12, 11, 10, 9, 8));
    const auto n = static_cast<long long>(counter_);
    __m512i counters = _mm512_setr_epi64(0, n, 0, n + 1, 0, n + 2, 0, n + 3);
    const __m512i four = _mm512_setr_epi64(0, 4, 0, 4, 0, 4, 0, 4);
    counter_ += out.size() / 16;

    constexpr std::size_t kTogether = 8;  // to cover the instructions' latency
    for (std::size_t done = 0; done < out.size();) {
      __m512i blocks[kTogether];
      for (auto& block : blocks) {
        block = _mm512_xor_si512(_mm512_shuffle_epi8(counters, swap), keys[0]);
        counters = _mm512_add_epi64(counters, four);
      }
      for (std::size_t round = 1; round < kRounds; ++round) {
        for (auto& block : blocks) block = _mm512_aesenc_epi128(block, keys[round]);
      }
      for (auto& block : blocks) {
        block = _mm512_aesenclast_epi128(block, keys[kRounds]);
        if (done < out.size()) _mm512_storeu_si512(out.data() + done, block);
        done += kChunk;
      }
    }
    explicit_bzero(keys, sizeof keys);
  }

 private:
  std::array<std::byte, 16 * (kRounds + 1)> round_keys_{};
  std::uint64_t counter_ = 0;
};

#endif

constexpr std::string_view kOpenssl = "openssl";
constexpr std::string_view kVaes = "vaes";

}  // namespace

std::vector<std::string_view> AesCtr::implementations() {
#if defined(__x86_64__)
  static const bool vaes = VaesCtr::supported();
  if (vaes) return {kVaes, kOpenssl};
#endif
  return {kOpenssl};
}

std::unique_ptr<AesCtr> AesCtr::make(std::span<const std::byte, kKeyBytes> key) {
  static const std::string_view fastest = implementations().front();
  return make(fastest, key);
}

std::unique_ptr<AesCtr> AesCtr::make(std::string_view implementation, std::span<const std::byte, kKeyBytes> key) {
#if defined(__x86_64__)
  if (implementation == kVaes) return std::make_unique<VaesCtr>(key);
#endif
  require<InvalidArgument>(implementation == kOpenssl, "there is no implementation '", implementation, "' of AES here");
  return std::make_unique<OpensslCtr>(key);
}

}  // namespace blindfl

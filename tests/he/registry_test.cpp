#include "blindfl/he/registry/registry.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "testing/thrown.h"

namespace blindfl::he {
namespace {

TEST(Registry, MakesEveryScheme) {
  EXPECT_EQ(scheme_names(), (std::vector<std::string>{"lattice", "paillier", "paillier-3072"}));
  for (const std::string& name : scheme_names()) {
    const std::unique_ptr<Scheme> scheme = make_scheme(name);
    EXPECT_TRUE(name.starts_with(scheme->name())) << name;
    EXPECT_GT(scheme->plan({2, 3, 1, 100, 0, 32, 64})->reply_bytes(), 0U) << name;
  }
}

TEST(Registry, OffersPaillierWithKeysOfTwoSizes) {
  const auto key_bits = [](std::string_view name) {
    return dynamic_cast<const PaillierScheme&>(*make_scheme(name)).params().key_bits();
  };
  EXPECT_EQ(key_bits("paillier"), 2048);
  EXPECT_EQ(key_bits("paillier-3072"), 3072);
}

TEST(Registry, RefusesOtherNamesAndNamesThoseThereAre) {
  EXPECT_EQ(testing::message_of<ConfigError>([] { (void)make_scheme("rot13\n"); }),
            "there is no scheme 'rot13?', only: lattice, paillier, paillier-3072");
  EXPECT_THROW((void)make_scheme(""), ConfigError);
  EXPECT_THROW((void)make_scheme("plain"), ConfigError) << "the oracle of the tests encrypts nothing";
}

}  // namespace
}  // namespace blindfl::he

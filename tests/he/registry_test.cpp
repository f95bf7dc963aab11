#include "blindfl/he/registry/registry.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "testing/thrown.h"

namespace blindfl::he::registry_test {
namespace {

TEST(Registry, MakesEveryScheme) {
  EXPECT_EQ(scheme_names(), (std::vector<std::string>{"lattice", "paillier", "paillier-3072"}));
  const ProductSpec spec{.rows = 2, .inner = 3, .cols = 1, .left_bound = 100, .right_bits = 64, .noise_bits = 30};
  for (const std::string& name : scheme_names()) {
    const std::unique_ptr<Scheme> scheme = make_scheme(name);
    EXPECT_TRUE(name.starts_with(scheme->name())) << name;
    EXPECT_GT(scheme->plan(spec)->reply_bytes(), 0U) << name;
  }
}

TEST(Registry, SaysOfEachSchemeWhatItSaysOfItself) {
  for (const SchemeEntry& entry : all_schemes()) {
    const std::unique_ptr<Scheme> scheme = make_scheme(entry.name);
    EXPECT_EQ(scheme->name(), entry.family) << entry.name;
    EXPECT_EQ(scheme->security_bits(), entry.security_bits) << entry.name;
    EXPECT_EQ(scheme->updates() != nullptr, entry.updates) << entry.name;
    EXPECT_NO_THROW((void)scheme_entry(entry.family)) << "planners ask by what a scheme calls itself";
  }
}

TEST(Registry, FindsLongerKeysOfTheSameFamily) {
  EXPECT_EQ(at_security(scheme_entry("paillier"), 112).name, "paillier");
  EXPECT_EQ(at_security(scheme_entry("paillier"), 128).name, "paillier-3072");
  EXPECT_EQ(at_security(scheme_entry("lattice"), 128).name, "lattice");
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
}  // namespace blindfl::he::registry_test

#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/he/paillier/scalar_task.h"
#include "blindfl/he/paillier/table_plan.h"

namespace blindfl::he::paillier {

/// A plan's tables of all bases, for some groups of ciphertexts.
class PowerTables {
 public:
  PowerTables(const ScalarTask& task, const TablePlan& plan, std::size_t first_group, std::size_t groups);

  /// A group's powers, as the plan numbers them. Groups are counted from the first.
  [[nodiscard]] const Limb* const* of_group(std::size_t group) const { return powers_.data() + group * plan_.powers(); }

 private:
  /// A base's tables, or its inverse's, in one group, while they grow.
  struct Growing {
    const PowerTable* table;
    const PowerTable* end;
    std::size_t offset;  ///< of the group's powers
  };

  void invert_bases();
  void build(std::span<Growing> all);
  void build_odd_powers(std::span<const Growing> all);
  void build_all_powers(std::span<const Growing> all);
  void start_next_window(std::vector<Growing>& all);

  const ScalarTask& task_;
  const TablePlan& plan_;
  std::size_t first_group_;
  std::size_t groups_;
  Rows rows_;
  std::vector<const Limb*> powers_;
};

}  // namespace blindfl::he::paillier

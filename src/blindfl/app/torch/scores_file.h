#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <string>
#include <vector>

#include "blindfl/app/job/preparation.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/protocol/align/psi.h"

namespace blindfl::app {

/// A text as a cell of a CSV file, in quotes where it needs them.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// Throws ConfigError, naming the option, if the folder that a file is to be written in is not there.
void require_place(const std::filesystem::path& path, std::string_view option);

/// B's predictions as a CSV file of mode 0600, in one step: the id, or the number of the row in its file, from 1, if
/// there are no ids; then a probability, an expected value or an expected count, or a probability for each class.
/// Placeholders are left out. Numbers have all their digits.
void write_scores(const std::filesystem::path& path, const JobModel& model, const torch::Tensor& scores,
                  const protocol::Alignment& alignment, const PreparedRows& rows,
                  const std::vector<std::string>& classes);

}  // namespace blindfl::app

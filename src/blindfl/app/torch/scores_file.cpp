#include "blindfl/app/torch/scores_file.h"

#include "blindfl/base/atomic_file.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"

namespace blindfl::app {

namespace {

std::string header(const JobModel& model, bool has_ids, const std::vector<std::string>& classes) {
  std::string line = has_ids ? "id" : "row";
  // Of two classes the score is the probability of the positive one, whose name says so.
  if (model.family == nn::Family::kLogistic && classes.size() == 2) {
    return line.append(",").append(csv_cell("score_" + classes[1])).append("\n");
  }
  if (model.family != nn::Family::kMultinomial) return line.append(",score\n");
  for (std::size_t i = 0; i < model.outputs; ++i) {
    std::string name = "score_";
    name.append(i < classes.size() ? classes[i] : std::to_string(i));
    line.append(",").append(csv_cell(name));
  }
  return line.append("\n");
}

}  // namespace

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted(1, '"');
  for (const char c : text) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

void require_place(const std::filesystem::path& path, std::string_view option) {
  const std::filesystem::path above = std::filesystem::absolute(path).parent_path();
  require<ConfigError>(std::filesystem::is_directory(above), option, " ", path.string(),
                       ": there is no such folder to write it in; make it first");
  require<ConfigError>(!std::filesystem::is_directory(path), option, " ", path.string(),
                       ": is a folder; name a file in it");
}

void write_scores(const std::filesystem::path& path, const JobModel& model, const torch::Tensor& scores,
                  const protocol::Alignment& alignment, const PreparedRows& rows,
                  const std::vector<std::string>& classes) {
  const torch::Tensor values = job_predictions(model, scores).to(torch::kFloat32).contiguous();
  require<InvalidArgument>(static_cast<std::size_t>(values.size(0)) == alignment.size(),
                           "there are not as many scores as rows");
  const auto* value = values.data_ptr<float>();
  AtomicFile file(path, Readers::kOwner);
  file.write(as_bytes(header(model, !rows.ids.empty(), classes)));
  for (std::size_t i = 0; i < alignment.size(); ++i) {
    if (!alignment.real[i]) continue;
    const std::size_t row = alignment.rows[i];
    std::string line = rows.ids.empty() ? std::to_string(row + 1) : csv_cell(rows.ids[row]);
    for (std::size_t c = 0; c < model.outputs; ++c) line.append(",").append(exact_text(value[i * model.outputs + c]));
    file.write(as_bytes(line += '\n'));
  }
  file.commit();
}

}  // namespace blindfl::app

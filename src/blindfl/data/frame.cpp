#include "blindfl/data/frame.h"

#include <limits>

#include "blindfl/data/frame_reader.h"

namespace blindfl::data {

Frame read_frame(const std::filesystem::path& path, const FrameSpec& spec) {
  FrameReader reader(path, spec);
  return *reader.next(std::numeric_limits<std::size_t>::max());
}

}  // namespace blindfl::data

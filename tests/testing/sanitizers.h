#pragma once

// Which sanitizers watch a test. g++ and clang say it in different ways.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BLINDFL_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define BLINDFL_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define BLINDFL_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__)
#define BLINDFL_THREAD_SANITIZER
#endif

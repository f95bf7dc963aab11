// Compiled with the precompiled gtest and gmock of the tests: there is nothing else in it.

// A matrix may be gigabytes, so it is copied by name only.
// expect: deleted.*RowMatrix

#include <wordloom/core/row_matrix.hpp>

void use(wordloom::RowMatrix& matrix) {
  wordloom::RowMatrix other = matrix.copy();
#ifdef WORDLOOM_EXPECT_FAILURE
  wordloom::RowMatrix copied = matrix;
#endif
}

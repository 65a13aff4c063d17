/// Returns the sum. This comment is right, though its second line begins with a clause:
/// Where there are no numbers, it is 0.
int sum();
/// The same, for the product.
int product();

/// Two numbers.
///
/// Of both, the first is the larger one.
struct Pair {
  int first = 0;        // larger: the check is not about words such as Offset or However
  bool is_even = true;  // Whether the sum is even.
};

// Draws the karate club of Zachary (1977): a network of 34 members that broke into two clubs. The
// coordinates of a member are the two principal components of its vector.
#include <Eigen/Core>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <wordloom/graph.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

namespace {

using Points = Eigen::Matrix<float, Eigen::Dynamic, 2, Eigen::RowMajor>;

constexpr Graph::Edge friendships[] = {
    {1, 2},   {1, 3},   {1, 4},   {1, 5},   {1, 6},   {1, 7},   {1, 8},   {1, 9},   {1, 11},
    {1, 12},  {1, 13},  {1, 14},  {1, 18},  {1, 20},  {1, 22},  {1, 32},  {2, 3},   {2, 4},
    {2, 8},   {2, 14},  {2, 18},  {2, 20},  {2, 22},  {2, 31},  {3, 4},   {3, 8},   {3, 9},
    {3, 10},  {3, 14},  {3, 28},  {3, 29},  {3, 33},  {4, 8},   {4, 13},  {4, 14},  {5, 7},
    {5, 11},  {6, 7},   {6, 11},  {6, 17},  {7, 17},  {9, 31},  {9, 33},  {9, 34},  {10, 34},
    {14, 34}, {15, 33}, {15, 34}, {16, 33}, {16, 34}, {19, 33}, {19, 34}, {20, 34}, {21, 33},
    {21, 34}, {23, 33}, {23, 34}, {24, 26}, {24, 28}, {24, 30}, {24, 33}, {24, 34}, {25, 26},
    {25, 28}, {25, 32}, {26, 32}, {27, 30}, {27, 34}, {28, 34}, {29, 32}, {29, 34}, {30, 33},
    {30, 34}, {31, 33}, {31, 34}, {32, 33}, {32, 34}, {33, 34}};

/// Returns whether a member sided with Mr. Hi (member 1) and not with the officers (member 34).
/// Member 9 sided with the officers, though he joined Mr. Hi's club in the end.
bool is_with_mr_hi(int member) {
  for (const int other : {9, 10, 15, 16, 19, 21})
    if (member == other) return false;
  return member < 23;
}

/// Returns the direction in which the rows of a matrix differ most. (By power iteration: an Eigen
/// decomposition takes ten seconds to compile.)
Eigen::VectorXf principal_axis(const Eigen::MatrixXf& rows) {
  Eigen::VectorXf axis = rows.row(0);
  for (int i = 0; i < 1000; ++i) axis = (rows.transpose() * (rows * axis)).normalized();
  return axis;
}

/// Returns the two principal components of the vectors, with the first member on the left.
Points principal_components(const Embeddings& nodes) {
  const auto dimension = static_cast<Eigen::Index>(nodes.dimension());
  Eigen::MatrixXf vectors(34, dimension);
  for (int member = 1; member <= 34; ++member)
    vectors.row(member - 1) = Eigen::Map<const Eigen::RowVectorXf>(
        nodes.vector(std::to_string(member)).data(), dimension);
  vectors.rowwise() -= vectors.colwise().mean().eval();
  Points points(34, 2);
  for (const int component : {0, 1}) {
    const Eigen::VectorXf axis = principal_axis(vectors);
    points.col(component) = vectors * axis;
    vectors -= points.col(component) * axis.transpose();
    if (points(0, component) > 0) points.col(component) *= -1;
  }
  return points;
}

/// Scales points to a canvas, and separates those whose circles would touch.
Points on_canvas(Points points) {
  const Eigen::RowVector2f low = points.colwise().minCoeff();
  const Eigen::RowVector2f high = points.colwise().maxCoeff();
  const Eigen::RowVector2f size(800, 420), corner(50, 130);
  for (auto row : points.rowwise())
    row = corner + ((row - low).array() / (high - low).array() * size.array()).matrix();
  constexpr float distance = 32;
  for (int round = 0; round < 500; ++round)
    for (int a = 0; a < 34; ++a)
      for (int b = 0; b < a; ++b) {
        const Eigen::RowVector2f gap = points.row(a) - points.row(b);
        if (gap.norm() >= distance) continue;
        const Eigen::RowVector2f step = gap.normalized() * (distance - gap.norm()) / 2;
        points.row(a) += step;
        points.row(b) -= step;
      }
  return points;
}

void draw(const Points& at, std::ostream& svg) {
  svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 900 600' font-family='sans-serif' "
         "text-anchor='middle'>\n<rect width='900' height='600' fill='white'/>\n"
         "<text x='450' y='40' font-size='22'>Vectors of 34 members of a karate club tell its two "
         "factions apart</text>\n<g font-size='17' font-weight='bold'>\n"
         "<text x='200' y='82' fill='#17508f'>Mr. Hi (1) and his faction</text>\n"
         "<text x='700' y='82' fill='#9a5200'>the officers (34) and theirs</text>\n</g>\n"
         "<g stroke='#bbbbbb'>\n";
  for (const auto& [a, b, weight] : friendships)
    svg << "<line x1='" << at(a - 1, 0) << "' y1='" << at(a - 1, 1) << "' x2='" << at(b - 1, 0)
        << "' y2='" << at(b - 1, 1) << "'/>\n";
  svg << "</g>\n<g font-size='14'>\n";
  for (int member = 1; member <= 34; ++member) {
    const bool dark = is_with_mr_hi(member);
    const float x = at(member - 1, 0), y = at(member - 1, 1);
    svg << "<circle cx='" << x << "' cy='" << y << "' r='14' stroke='black' fill='"
        << (dark ? "#17508f" : "#ffc46b") << "'/><text x='" << x << "' y='" << y + 5 << "' fill='"
        << (dark ? "white" : "black") << "'>" << member << "</text>\n";
  }
  svg << "</g>\n</svg>\n";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw InvalidArgument("usage: draw_graph PICTURE.svg");
  const Graph graph = Graph::from_edges(friendships, 35);  // no edge has node 0: it is left out
  const RandomWalks walks(graph, {.length = 40, .q = 0.5});
  DefaultTrainer trainer{{.dimension = 16, .window = 5, .epochs = 20, .threads = 1}};
  const Embeddings nodes = trainer.fit(walks, graph.vocabulary());
  const Points components = principal_components(nodes);
  int right = 0;
  for (int member = 1; member <= 34; ++member)
    right += (components(member - 1, 0) < 0) == is_with_mr_hi(member);
  std::cout << right << " of 34 members stand on the side of their faction\n";
  std::ofstream picture(argv[1]);
  draw(on_canvas(components), picture);
  if (!picture.flush()) throw IoError("cannot write '" + std::string(argv[1]) + "'");
} catch (const std::exception& error) {
  std::cerr << "draw_graph: " << error.what() << '\n';
  return 1;
}

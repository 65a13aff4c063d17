// The Python module `wordloom`: training and queries, with Python's words, arrays and exceptions.
// See README.md.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <wordloom/any_trainer.hpp>
#include <wordloom/wordloom.hpp>

namespace py = pybind11;
using namespace wordloom;
using namespace py::literals;

namespace {

/// Lets Python act on Ctrl-C, which raises KeyboardInterrupt. Needs the GIL.
void check_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// The words of a sentence, whose text is Python's.
struct Sentence {
  py::object owner;
  std::vector<std::string_view> words = {};

  auto begin() const { return words.begin(); }
  auto end() const { return words.end(); }
};

std::string_view text_of(py::handle word) {
  if (!py::isinstance<py::str>(word))
    throw py::type_error(std::string("a word must be a str, not ") + Py_TYPE(word.ptr())->tp_name);
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(word.ptr(), &size);
  if (text == nullptr) throw py::error_already_set();
  return {text, static_cast<std::size_t>(size)};
}

/// Returns the sentences of an iterable as a range that can be read once. Needs the GIL.
auto sentences_of(const py::iterable& all) {
  if (py::isinstance<py::str>(all)) throw py::type_error("sentences is a str, not many of them");
  const auto read = [count = 0](py::handle value) mutable {
    if (++count % 256 == 0) {
      check_signals();
      const py::gil_scoped_release others_run;
    }
    Sentence sentence{py::reinterpret_borrow<py::object>(value)};
    if (py::isinstance<py::str>(value)) {
      const auto use = [&](std::string_view word) { sentence.words.push_back(word); };
      for_each_token(text_of(value), use, [] {});
      return sentence;
    }
    sentence.owner = py::reinterpret_steal<py::object>(
        PySequence_Fast(value.ptr(), "a sentence must be a str or an iterable of str"));
    if (!sentence.owner) throw py::error_already_set();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sentence.owner.ptr()); ++i)
      sentence.words.push_back(text_of(PySequence_Fast_GET_ITEM(sentence.owner.ptr(), i)));
    return sentence;
  };
  return std::views::transform(std::ranges::subrange(py::iter(all), py::iterator::sentinel()),
                               read);
}

using Words = std::vector<std::string>;

/// Acts on signals and calls a Python function, on the thread that called `train`.
struct Callback {
  const py::object* function;  // null: none
  std::chrono::duration<double> every;

  std::chrono::duration<double> interval() const { return every; }
  bool on_progress(const Progress& progress) const {
    const py::gil_scoped_acquire gil;
    check_signals();
    if (function == nullptr) return true;
    const py::object result = (*function)(progress);
    return result.is_none() || py::bool_(result);
  }
};

Embeddings train(const py::iterable& sentences, const std::string& sampler,
                 const std::string& kernel, std::uint64_t min_count, const std::string& optimizer,
                 const std::string& schedule, const py::object& callback, double interval,
                 const py::kwargs& named) {
  Hyperparameters parameters;
  std::vector<std::pair<std::string, std::string>> of_sampler;
  for (const auto& [key, value] : named) {
    std::string name = py::str(key), text = py::str(value);
    if (text == "True" || text == "False") text.front() += 'a' - 'A';
    if (!parameters.set(name, text)) of_sampler.emplace_back(name, text);
  }
  AnyTrainer trainer =
      make_trainer(sampler, kernel, parameters, {.optimizer = optimizer, .schedule = schedule});
  for (const auto& [name, text] : of_sampler) trainer.sampler_parameter(name, text);
  trainer.add(OnCallingThread(Callback{nullptr, std::chrono::milliseconds(100)}));
  if (!callback.is_none())
    trainer.add(OnCallingThread(Callback{&callback, std::chrono::duration<double>(interval)}));

  const auto [vocabulary, corpus] =
      EncodedCorpus::encode(sentences_of(sentences), {.min_count = min_count});
  const py::gil_scoped_release others_run;
  return trainer.fit(corpus, vocabulary);
}

/// Returns the array, which refers to the vectors of its owner, without leave to change them.
py::array read_only(py::array_t<float> array) {
  array.attr("setflags")("write"_a = false);
  return array;
}

std::vector<std::pair<std::string, float>> most_similar(
    const Embeddings& vectors, const std::variant<std::string, Words>& positive,
    const Words& negative, std::size_t k) {
  const auto* const word = std::get_if<std::string>(&positive);
  const Words words = word != nullptr ? Words{*word} : std::get<Words>(positive);
  std::vector<std::pair<std::string, float>> found;
  for (auto& [near, score] : vectors.most_similar(
           Embeddings::Sum{{words.begin(), words.end()}, {negative.begin(), negative.end()}}, k))
    found.emplace_back(near, score);
  return found;
}

}  // namespace

PYBIND11_MODULE(wordloom, module) {
  const auto without_gil = py::call_guard<py::gil_scoped_release>();
  py::register_local_exception<Error>(module, "Error", PyExc_RuntimeError);
  py::register_local_exception<InvalidArgument>(module, "InvalidArgument", PyExc_ValueError);
  py::register_local_exception<CorpusError>(module, "CorpusError", PyExc_ValueError);
  py::register_local_exception<FormatError>(module, "FormatError", PyExc_ValueError);
  py::register_local_exception<IoError>(module, "IoError", PyExc_OSError);
  py::register_local_exception<UnknownWord>(module, "UnknownWord", PyExc_KeyError);

  py::class_<Progress>(module, "Progress", py::module_local())
      .def_readonly("epoch", &Progress::epoch)
      .def_readonly("epochs", &Progress::epochs)
      .def_readonly("words_per_second", &Progress::words_per_second)
      .def_readonly("mean_loss", &Progress::mean_loss)
      .def_readonly("ended", &Progress::ended)
      .def_property_readonly("fraction", &Progress::fraction);

  py::class_<Embeddings>(module, "Vectors", py::module_local())
      .def("__len__", &Embeddings::size)
      .def("__contains__", &Embeddings::contains)
      .def("__getitem__",
           [](const py::object& self, std::string_view word) {
             const auto vector = self.cast<const Embeddings&>()[word];
             return read_only(py::array_t<float>(py::ssize_t(vector.size()), vector.data(), self));
           })
      .def_property_readonly(
          "array",
          [](const py::object& self) {
            const RowMatrix& rows = self.cast<const Embeddings&>().vectors();
            return read_only(py::array_t<float>({rows.rows(), rows.columns()},
                                                {rows.stride() * sizeof(float), sizeof(float)},
                                                rows.data(), self));
          })
      .def_property_readonly("words",
                             [](const Embeddings& self) {
                               Words words;
                               for (const auto& entry : self) words.emplace_back(entry.word);
                               return words;
                             })
      .def("most_similar", &most_similar, "positive"_a, "negative"_a = Words(), "k"_a = 10,
           without_gil)
      .def(
          "save",
          [](const Embeddings& self, const std::filesystem::path& path) { self.save(path); },
          "path"_a, without_gil);

  module.def(
      "load", [](const std::filesystem::path& path) { return Embeddings::load(path); }, "path"_a,
      without_gil);
  module.def("train", &train, "sentences"_a, "sampler"_a = "shared", "kernel"_a = "fused",
             py::kw_only(), "min_count"_a = 5, "optimizer"_a = "sgd", "schedule"_a = "linear",
             "callback"_a = py::none(), "interval"_a = 1.0);
}

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get


class WordloomConan(ConanFile):
    name = "wordloom"
    version = "0.9.0"
    license = "MIT"
    description = "Header-only C++20 library that trains word and node embeddings"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"blas": [True, False], "zlib": [True, False], "eigen": [True, False]}
    default_options = {"blas": False, "zlib": False, "eigen": False}

    def requirements(self):
        self.requires("highway/1.2.0", transitive_headers=True)
        if self.options.blas:
            self.requires("openblas/0.3.27", transitive_headers=True)
        if self.options.zlib:
            self.requires("zlib/[>=1.2.11 <2]", transitive_headers=True)
        if self.options.eigen:
            self.requires("eigen/3.4.0", transitive_headers=True)

    def layout(self):
        cmake_layout(self)

    def source(self):
        get(self, "<address of the archive>", sha256="<of the archive>", strip_root=True)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for option in ("blas", "zlib", "eigen"):
            enabled = bool(self.options.get_safe(option))
            toolchain.cache_variables["WORDLOOM_ENABLE_" + option.upper()] = enabled
        for part in ("ENABLE_MPI", "ENABLE_OPENMP", "ENABLE_LIBLINEAR", "ENABLE_HNSWLIB", "ENABLE_CUDA",
                     "BUILD_EXAMPLES", "BUILD_TESTS", "BUILD_BENCHMARKS"):
            toolchain.cache_variables["WORDLOOM_" + part] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, self.package_folder + "/licenses")
        CMake(self).install()

    def package_info(self):
        # The package's own files for CMake have its components.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/wordloom"]
        self.cpp_info.libs = ["wordloom"]
        self.cpp_info.defines = ["WORDLOOM_PRECOMPILED=1"]

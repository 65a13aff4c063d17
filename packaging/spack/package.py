from spack.package import *


class Wordloom(CMakePackage):
    """Header-only C++20 library that trains word and node embeddings."""

    homepage = "<address of the project>"
    url = "<address of the archive of a version>"
    license("MIT")
    version("0.9.0", sha256="<of the archive>")

    variant("blas", default=False, description="GemmKernel and character CNN")
    variant("zlib", default=False, description=".gz files")
    variant("eigen", default=False, description="Views of matrices")
    variant("mpi", default=False, description="Several processes")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("highway@1.0.4:")
    depends_on("blas", when="+blas")
    depends_on("zlib-api", when="+zlib")
    depends_on("eigen@3.4:", when="+eigen")
    depends_on("mpi", when="+mpi")

    def cmake_args(self):
        off = ("ENABLE_OPENMP", "ENABLE_LIBLINEAR", "ENABLE_HNSWLIB", "ENABLE_CUDA", "BUILD_EXAMPLES",
               "BUILD_TESTS", "BUILD_BENCHMARKS")
        return [self.define("WORDLOOM_" + name, False) for name in off] + [
            self.define_from_variant("WORDLOOM_ENABLE_" + name.upper(), name)
            for name in ("blas", "zlib", "eigen", "mpi")
        ]

# Doxygen reads headers through this filter, which keeps their lines apart from these changes:
# - What a header declares is in the group of its folder (groups.dox), or of its name below.
# - The inline namespace of the ABI is left out, so that names and addresses of pages are stable.
# - A comment before #include or before the namespace is one on the file.
# - Definitions and macros between them are left out.
# - "et al." and " .. " do not end the first sentence of a comment.
BEGIN {
  split("core core corpus corpora graph graphs query queries model models algebra graphs encoder models " \
        "objective kernels sampler samplers schedule schedules optimizer optimizers " \
        "kernel kernels testing testing sync sync train running io files evaluation evaluation " \
        "simd core cuda gpu", word, " ")
  for (i = 1; i in word; i += 2) group_of[word[i]] = word[i + 1]
  split("cuda.hpp gpu cuda_encoders.hpp gpu cuda_vanilla.hpp gpu nccl.hpp gpu mpi.hpp sync " \
        "eigen.hpp models nearest_index.hpp queries alignment.hpp models openmp.hpp core version.hpp core core/files.hpp files " \
        "core/mapped_file.hpp files sampler/targets.hpp targets sampler/huffman_path.hpp targets " \
        "sampler/huffman_tree.hpp targets sampler/negative_distribution.hpp targets " \
        "sampler/negative_pool.hpp targets sampler/negative_sampling.hpp targets " \
        "sampler/edge_pairs.hpp targets", word, " ")
  for (i = 1; i in word; i += 2) group_of[word[i]] = word[i + 1]
}

NR == 1 {
  path = FILENAME
  sub(/.*include\/wordloom\//, "", path)
  folder = path
  sub(/\/.*/, "", folder)
  group = path in group_of ? group_of[path] : folder in group_of ? group_of[folder] : "systems"
}

function flush_held(   i) {
  for (i = 1; i <= held; ++i) print line[i]
  held = 0
}

/\.inl>/ || (in_namespace && /^#define .*[^\\]$/) { $0 = "" }
{ gsub(/et al\. /, "et al.\\ ") }
/^ *\/\/\// { gsub(/ \.\. /, " ..\\ ") }

# Blank lines and comments are held back until it is known what they are about.
!in_namespace && (/^$/ || /^\/\/\//) {
  line[++held] = $0
  next
}
!in_namespace && held > 1 && line[1] == "" && line[2] != "" && /^(#|namespace)/ {
  line[1] = "/// @file"
}
{ flush_held() }

/^namespace wordloom \{/ {
  in_namespace = 1
  sub(/ inline namespace WORDLOOM_ABI \{/, "")
  print $0 " /** @addtogroup " group " */ /** @{ */"
  next
}
/^}+ +\/\/ namespace wordloom/ { sub(/^}/, "/** @} */ ") }
{ print }
END { flush_held() }

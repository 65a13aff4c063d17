# Says once where a project compiles without optimisation because nothing was said: with the headers
# alone it trains some 40 times as slowly.
function(wordloom_note_missing_build_type)
  get_property(has_several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  get_property(is_said GLOBAL PROPERTY wordloom_build_type_noted)
  if(NOT is_said AND NOT has_several AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CXX_FLAGS MATCHES "-O[1-3fs]")
    set_property(GLOBAL PROPERTY wordloom_build_type_noted ON)
    set(remedy "set it to Release")
    if(TARGET wordloom::precompiled)
      string(APPEND remedy " or link wordloom::precompiled, which is optimised")
    endif()
    message(NOTICE "Wordloom: there is no CMAKE_BUILD_TYPE, so what includes the headers is compiled without "
                   "optimisation: ${remedy}.")
  endif()
endfunction()

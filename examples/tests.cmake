# How CTest runs each program.

# Fails when `command` (a line of sh, run in a folder of its own) fails.
function(wordloom_example_test name command)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/runs/${name})
  file(MAKE_DIRECTORY ${folder})
  add_test(NAME example/${name} COMMAND sh -euc "${command}" WORKING_DIRECTORY ${folder})
  set_tests_properties(example/${name} PROPERTIES LABELS example TIMEOUT 300)
endfunction()

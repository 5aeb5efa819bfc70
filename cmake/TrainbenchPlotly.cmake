# Plotly's bundle, which draws the pictures of `trainbench report`: the one in PyPI's wheel, by version and hash. It lies
# beside the page's own files in the build's configs, and is installed with them; where it cannot be had, pages have
# their tables alone.

option(TRAINBENCH_PLOTLY "Fetch Plotly for the pictures of reports, where the network gives it" ${PROJECT_IS_TOP_LEVEL})
if(NOT TRAINBENCH_PLOTLY)
  return()
endif()

set(version 6.5.0)
set(url https://files.pythonhosted.org/packages/e7/c3/3031c931098de393393e1f93a38dc9ed6805d86bb801acc3cf2d5bd1e6b7)
set(sha256 5ac851e100367735250206788a2b1325412aa4a4917a4fe3e6f0bc5aa6f3d90a)
set(folder "${PROJECT_BINARY_DIR}/configs/page")
set(unpacked "${PROJECT_BINARY_DIR}/plotly")

if(NOT EXISTS "${folder}/plotly.min.js")
  set(wheel "${unpacked}/plotly-${version}.zip")
  file(DOWNLOAD "${url}/plotly-${version}-py3-none-any.whl" "${wheel}" STATUS status INACTIVITY_TIMEOUT 20)
  list(GET status 0 failed)
  if(NOT failed)
    file(SHA256 "${wheel}" found)
    if(found STREQUAL sha256)
      file(ARCHIVE_EXTRACT INPUT "${wheel}" DESTINATION "${unpacked}" PATTERNS plotly/package_data/plotly.min.js)
      file(COPY "${unpacked}/plotly/package_data/plotly.min.js" DESTINATION "${folder}")
    else()
      message(STATUS "Plotly: ${url} is not the file it was; reports are without pictures")
    endif()
  else()
    message(STATUS "Plotly: not to be had (${status}); reports are without pictures")
  endif()
  file(REMOVE_RECURSE "${unpacked}")
endif()

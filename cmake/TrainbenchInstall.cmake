include(GNUInstallDirs)

# Libraries outside the loader's folders, such as CUDA's, are still found where they were linked.
set_target_properties(trainbench PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS trainbench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/trainbench/configs)
install(FILES "${PROJECT_BINARY_DIR}/configs/page/plotly.min.js" OPTIONAL
        DESTINATION ${CMAKE_INSTALL_DATADIR}/trainbench/configs/page)

include(GNUInstallDirs)
install(TARGETS trainbench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/trainbench/configs)

"""Recording from within trainers of other packages: one file for each, which imports the package that it is for."""

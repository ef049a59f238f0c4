"""Published model results: `read` knows no database, `store` writes all or nothing; files and problems are as in experiment.imports."""

"""A site as each released version wrote it, and its upgrade to the present one."""

"""Static files under names that carry their content's hash, so that browsers may cache them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Also renames the modules that a module imports: an old page never mixes with a new script."""

    support_js_module_import_aggregation = True

"""Static files under names that carry their content's hash, so that browsers may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Also renames the modules that a module imports: an old page never mixes with a new script."""

    support_js_module_import_aggregation = True

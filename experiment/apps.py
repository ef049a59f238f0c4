from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate, pre_migrate


class ExperimentConfig(AppConfig):
    name = "experiment"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in, user_login_failed

        from experiment import checks  # noqa: F401 (registers the system checks)
        from experiment.models.triggers import drop_triggers, install_triggers
        from experiment.services.sign_in import record_failure, record_sign_in
        from lib.private import close_files

        post_migrate.connect(close_files, sender=self)
        pre_migrate.connect(drop_triggers, sender=self)
        post_migrate.connect(install_triggers, sender=self)
        user_logged_in.connect(record_sign_in)
        user_login_failed.connect(record_failure)


class AdministrationConfig(AdminConfig):
    default_site = "experiment.lab.access.AdministrationSite"

from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        """A run's samples are written with what is found here about its preferences; results go with who withdraws."""
        from analysis.services.forget import forget_results
        from experiment.models import Study
        from experiment.services.privacy.erasure import people_erased
        from scoring.lm_eval import ADDED_TO_SAMPLES

        ADDED_TO_SAMPLES.append("analysis.report.services.sample_flips.sample_flips")
        people_erased.connect(forget_results, sender=Study)

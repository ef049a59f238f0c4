from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        """A run's samples are written with what is found here about its preferences; results go with who withdraws; a data set
        has models and teams too; models and people advise."""
        from analysis.services.compute import forget_results
        from experiment.models import Study
        from experiment.services import advisers
        from experiment.services.export import data_set
        from experiment.services.withdrawal import people_erased
        from scoring.lm_eval import ADDED_TO_SAMPLES

        ADDED_TO_SAMPLES.append("analysis.report.services.traces.sample_flips")
        data_set.TABLES.append("analysis.data_set.more_tables")
        data_set.STATES.append("analysis.services.compute.data_set_state")
        advisers.WORKS_OUT.append("analysis.services.advising.work_out")
        advisers.CHECKS.append("analysis.services.advising.check")
        people_erased.connect(forget_results, sender=Study)

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        """What graders quoted goes with the words of who became anonymous; a data set has answers and grades too."""
        from experiment.models import Study
        from experiment.services.export import added
        from experiment.services.privacy.erasure import people_erased
        from scoring.services.grading.targets import forget_words

        added.TABLES.append("scoring.services.data_set.more_tables")
        added.STATES.append("scoring.services.data_set.state")
        people_erased.connect(forget_words, sender=Study)

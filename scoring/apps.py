from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        """What graders quoted goes with the words of who became anonymous; a data set has answers and grades too."""
        from experiment.models import Study
        from experiment.services.export import added
        from experiment.services.privacy.erasure import people_erased
        from scoring.services.grading.erasure import forget_words

        added.TABLES.append("scoring.services.data_set.tables.more_tables")
        added.STATES.append("scoring.services.data_set.tables.state")
        people_erased.connect(forget_words, sender=Study)

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        """Registers graders' quotations, which go with the words of a person who became anonymous; a data set has answers and grades."""
        from experiment.models import Study
        from experiment.services.export import data_set
        from experiment.services.withdrawal import people_erased
        from scoring.services.data_set import more_tables, state
        from scoring.services.grading.targets import forget_words

        data_set.ADDITIONS.append(data_set.Addition(more_tables, state))
        people_erased.connect(forget_words, sender=Study)

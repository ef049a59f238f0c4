"""The debrief with the results, and the end."""

import material
from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models

doc = "After the trials"


class C(BaseConstants):
    NAME_IN_URL = "outro"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 1


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    cheated = models.BooleanField(blank=True)
    comments = models.LongStringField(blank=True, max_length=5000, label="Comments (optional)")


class Debrief(Page):
    form_model = "player"
    form_fields = ["cheated", "comments"]

    @staticmethod
    def vars_for_template(player):
        trials = [p for p in player.participant.get_players() if p.get_folder_name() == "trials"]
        results = [
            {
                "number": trial.round_number,
                "correct": trial.correct,
                "side": trial.side,
                "parts": material.original(trial.item),
            }
            for trial in trials
            if material.ITEMS[trial.item]["stratum"] != "catch"
        ]
        return {"results": results, "n_correct": sum(result["correct"] for result in results)}


class Done(Page):
    pass


page_sequence = [Debrief, Done]

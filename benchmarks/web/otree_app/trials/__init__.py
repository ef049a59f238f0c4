"""Eleven trials: each shows an abstract in two versions and asks which is the original."""

import time

import material
from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models, widgets

doc = "The trials"


class C(BaseConstants):
    NAME_IN_URL = "trials"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 11
    MEASURES = [
        "rt_choice_ms",
        "rt_final_choice_ms",
        "rt_ms",
        "confidence_first_ms",
        "confidence_last_ms",
        "expertise_first_ms",
        "expertise_last_ms",
        "changes",
        "aid_switches",
        "blur_count",
        "hidden_ms",
        "reloads",
        "viewport_width",
        "viewport_height",
    ]


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    item = models.IntegerField()
    original_side = models.StringField()
    correct = models.BooleanField()
    received_at = models.FloatField()
    side = models.StringField(choices=["A", "B"])
    confidence = models.IntegerField(
        min=1, max=100, label="How confident are you in your choice? (1: lower, 100: higher)"
    )
    expertise = models.IntegerField(
        min=1,
        max=100,
        label="Is this topic within your own expertise? (1: not at all, 100: very much so)",
    )
    recognised = models.StringField(
        choices=[["yes", "Yes"], ["no", "No"]],
        widget=widgets.RadioSelectHorizontal,
        label="Did you already know this article or its result?",
    )
    rt_choice_ms = models.IntegerField(blank=True)
    rt_final_choice_ms = models.IntegerField(blank=True)
    rt_ms = models.IntegerField(blank=True)
    confidence_first_ms = models.IntegerField(blank=True)
    confidence_last_ms = models.IntegerField(blank=True)
    expertise_first_ms = models.IntegerField(blank=True)
    expertise_last_ms = models.IntegerField(blank=True)
    changes = models.IntegerField(blank=True)
    aid_switches = models.IntegerField(blank=True)
    blur_count = models.IntegerField(blank=True)
    hidden_ms = models.IntegerField(blank=True)
    reloads = models.IntegerField(blank=True)
    viewport_width = models.IntegerField(blank=True)
    viewport_height = models.IntegerField(blank=True)


class Trial(Page):
    form_model = "player"
    form_fields = ["side", "confidence", "expertise", "recognised", *C.MEASURES]

    @staticmethod
    def vars_for_template(player):
        number, original_side = player.participant.items[player.round_number - 1]
        return {"parts": material.by_side(number, original_side)}

    @staticmethod
    def before_next_page(player, timeout_happened):
        player.item, player.original_side = player.participant.items[player.round_number - 1]
        player.correct = player.side == player.original_side
        player.received_at = time.time()


page_sequence = [Trial]

"""Consent, demographics, practice, start."""

import random

import material
from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models, widgets

doc = "Before the trials"


class C(BaseConstants):
    NAME_IN_URL = "intro"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 1
    GENDERS = [
        ["female", "Female"],
        ["male", "Male"],
        ["gender_variant", "Gender variant or non-conforming"],
        ["other", "Another gender identity"],
        ["prefer_not_to_say", "Prefer not to say"],
    ]
    POSITIONS = [
        ["predoctoral_student", "Predoctoral student"],
        ["doctoral_student", "Doctoral student"],
        ["postdoctoral_researcher", "Postdoctoral researcher"],
        ["faculty", "Faculty or academic staff"],
        ["research_scientist", "Research scientist"],
        ["other", "Other"],
        ["prefer_not_to_say", "Prefer not to say"],
    ]


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    agree = models.StringField(
        choices=[["yes", "I agree"], ["no", "I do not agree"]], widget=widgets.RadioSelect
    )
    gender = models.StringField(
        choices=C.GENDERS, widget=widgets.RadioSelect, label="Gender identity"
    )
    age = models.IntegerField(min=18, max=110, label="Age in years")
    country = models.StringField(choices=material.COUNTRIES, label="Country where you live")
    position = models.StringField(choices=C.POSITIONS, label="Current position")
    experience_years = models.FloatField(
        min=0, max=90, label="Years of experience in neuroscience, in a broad sense"
    )
    side = models.StringField(choices=["A", "B"])
    practice_attempts = models.IntegerField(initial=0)


class Consent(Page):
    form_model = "player"
    form_fields = ["agree"]

    @staticmethod
    def vars_for_template(player):
        return {"briefing": material.BRIEFING, "consent": material.CONSENT}

    @staticmethod
    def before_next_page(player, timeout_happened):
        player.participant.items = material.draw()
        player.participant.practice_side = random.choice("AB")


class Demographics(Page):
    form_model = "player"
    form_fields = ["gender", "age", "country", "position", "experience_years"]


class Practice(Page):
    form_model = "player"
    form_fields = ["side"]

    @staticmethod
    def vars_for_template(player):
        number = material.BY_STRATUM["practice"][0]
        return {"parts": material.by_side(number, player.participant.practice_side)}

    @staticmethod
    def error_message(player, values):
        player.practice_attempts += 1
        if values["side"] != player.participant.practice_side:
            return "Not this one. Read the abstract again and try the other version."
        return None


class Start(Page):
    pass


page_sequence = [Consent, Demographics, Practice, Start]

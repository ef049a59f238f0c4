"""What trying teams gives, as typed objects; `analysis.codec` makes JSON of them and back.

Shares are from 0 to 1, intervals (low, high) of 95%, log losses in nats.
"""

from analysis.teams.results.documents import (
    Ratings,
    TeamingResult,
    TeamResults,
    TeamsDocument,
    TriedTeams,
)
from analysis.teams.results.fits import (
    About,
    BayesianAbout,
    BayesianDiagnostics,
    FoldsKind,
    ImprovedAbout,
    LogisticAbout,
    Method,
    Penalties,
    Posterior,
    Quantity,
)
from analysis.teams.results.members import Member, MemberKind, MemberResult, Team
from analysis.teams.results.policies import ChosenPolicy, Policy, PolicyPoint, SizeCell, Sizes
from analysis.teams.results.team import (
    AddingHuman,
    Complementarity,
    Gain,
    NearChance,
    NotPossible,
    OnlyOne,
    Pattern,
    SomeRight,
    TeamResult,
    Tried,
)

__all__ = [
    "About",
    "AddingHuman",
    "BayesianAbout",
    "BayesianDiagnostics",
    "ChosenPolicy",
    "Complementarity",
    "FoldsKind",
    "Gain",
    "ImprovedAbout",
    "LogisticAbout",
    "Member",
    "MemberKind",
    "MemberResult",
    "Method",
    "NearChance",
    "NotPossible",
    "OnlyOne",
    "Participants",
    "Pattern",
    "Penalties",
    "Policy",
    "PolicyPoint",
    "Posterior",
    "Quantity",
    "Ratings",
    "SizeCell",
    "Sizes",
    "SomeRight",
    "StudyName",
    "Team",
    "TeamResult",
    "TeamResults",
    "TeamingResult",
    "TeamsDocument",
    "Tried",
    "TriedTeams",
]

"""An oTree 6 project equivalent to a BrainBench study here, for `bench web`; oTree imports it, Django does not."""

import os

SESSION_CONFIGS = [
    {"name": "bench", "app_sequence": ["intro", "trials", "outro"], "num_demo_participants": 1}
]
SESSION_CONFIG_DEFAULTS = {
    "real_world_currency_per_point": 1.0,
    "participation_fee": 0.0,
    "doc": "",
}
PARTICIPANT_FIELDS = ["items", "practice_side"]
LANGUAGE_CODE = "en"
REAL_WORLD_CURRENCY_CODE = "USD"
USE_POINTS = True
ADMIN_USERNAME = "admin"
ADMIN_PASSWORD = os.environ.get("OTREE_ADMIN_PASSWORD")
SECRET_KEY = os.environ["OTREE_SECRET_KEY"]

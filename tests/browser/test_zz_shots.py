import os
import pytest
from experiment.models import Participant, Study
from tests.factories import make_user

SIZES = {"d": (1280, 900), "p": (360, 740)}
LANG = os.environ.get("SHOT_LANG", "en")

def shoot(page, name):
    for key, (w, h) in SIZES.items():
        page.set_viewport_size({"width": w, "height": h})
        page.wait_for_timeout(150)
        page.screenshot(path=f"/tmp/shots/{LANG}-{name}-{key}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 900})

def test_shots(visit, demo, open_browser):
    Study.objects.update(language=LANG, ethics_number="EC/2026/7", ethics_body="Ethics board of the faculty", ethics_contact="board@uni.example", contact="Dr Ada Example, ada@uni.example", platform="prolific", completion_code="C0DE-77", screen_out_url="https://app.prolific.com/out", human_items=2, machine_items=0, catch_items=0)
    demo.refresh_from_db()
    v = visit(demo)
    v.enter("?PROLIFIC_PID=5f3a9c21e0b7d4a6f8c1b2e3&STUDY_ID=65aa00112233445566778899&SESSION_ID=65bb00112233445566778899")
    shoot(v.page, "consent")
    v.page.locator("#agree").click()
    v.page.wait_for_url("**/about-you/")
    shoot(v.page, "about")
    v.page.locator("#id_age_0").fill("7")
    v.page.locator("button[type=submit]").click()
    v.page.locator("#error-summary").wait_for()
    shoot(v.page, "about-errors")
    v.page.goto(v.home + "return/"); shoot(v.page, "return")
    v.page.goto(v.home + "withdraw/"); shoot(v.page, "withdraw")
    v.page.context.clear_cookies()
    v.page.goto(v.home + "trial/1/"); shoot(v.page, "lost")
    v.enter("?PROLIFIC_PID=5f3a9c21e0b7d4a6f8c1b2e3"); shoot(v.page, "known")
    Participant.objects.all().delete()
    v.page.context.clear_cookies()
    v.practice()
    v.page.reload(); shoot(v.page, "practice")
    Participant.objects.all().delete()
    v.page.context.clear_cookies()
    v.start()
    shoot(v.page, "trial")
    for _ in range(2):
        v.answer("A") if LANG == "en" else (v.driver.choose("A"), v.driver.rate("confidence", 70), v.driver.rate("expertise", 30), v.answer_recognised(), v.page.locator("form#trial [type=submit]").click(), v.page.wait_for_timeout(800))
    shoot(v.page, "debrief")
    for s in v.page.locator(".result summary").all(): s.click()
    shoot(v.page, "debrief-open")
    Participant.objects.update(external_source="prolific", external_id="abc")
    v.page.locator("form [type=submit]").last.click()
    v.page.wait_for_url("**/done/")
    shoot(v.page, "done")
    if LANG == "en":
        make_user("ruth", demo)
        Study.objects.update(language="tr")
        c = open_browser(); p = c.new_page(); p.goto("/lab/studies/demo/")
        p.get_by_label("Username").fill("ruth"); p.get_by_label("Password").fill("ruth"); p.get_by_role("button", name="Sign in").click()
        p.wait_for_url("**/demo/"); shoot(p, "lab")
        Study.objects.update(language="en")
        p.goto("/lab/studies/demo/links/prolific/completion/"); shoot(p, "preview")
